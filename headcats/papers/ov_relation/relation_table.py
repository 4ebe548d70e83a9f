"""Relations as a table: how many heads implement each, how well the best does, and whether text agrees."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import xarray as xr

from headcats.base.errors import DataError, OptionError, UnknownNameError, pluralize, unknown_name_message
from headcats.figures.colours import FAINT, HATCH, TEXT, TICK
from headcats.figures.figure import figure
from headcats.figures.panels.axes import Axis
from headcats.figures.panels.grid import PanelGrid
from headcats.figures.panels.layout import Panel, Plot
from headcats.figures.panels.text import MEDIUM, escaped, text_width
from headcats.figures.tables import head_rows, require
from headcats.papers.ov_relation.static_dynamic import check_dynamic
from headcats.papers.ov_relation.summary import SIDES, by_category
from headcats.results.visible import shortened

_ROW, _BAR, _APART = 22, 100, 18  # pixels
_LONGEST, _NAMED = 44, 8  # letters of a name, heads in a hover
_NONE = "–"


class _Column(NamedTuple):
    """Texts of a column, from its heading down."""

    name: str
    texts: Sequence[str]
    meaning: str
    centred: bool = True

    @property
    def width(self) -> int:
        return max(text_width(text, MEDIUM) for text in (self.name, *self.texts)) + _APART


@figure
def relation_table(
    relations: xr.Dataset,
    *,
    dynamic: xr.Dataset | None = None,
    score: str = "score",
    threshold: str | float = "calibrated",
    title: str | None = None,
) -> PanelGrid:
    """Every relation with its heads, best score and thresholds, and with r where running text was looked at.

    One row per relation, by category. Bar: the best score of any head, dark where it reaches the threshold, which the
    upright line marks. r is the paper's: the correlation of scores by weights and in text over all heads and templates,
    with context and without. Hover over a row for the heads that implement the relation.

    Args:
        relations: What `hc.methods.ov_relation` returns.
        dynamic: What `hc.papers.ov_relation.dynamic_relation` returned for some or all of these relations.
        score: `"score"`, or `"suppression"`.
        threshold: `"calibrated"`, or a number in (0, 1] for all relations; 0.15 is the paper's.
        title: Written above the table.

    Returns:
        The figure. `hc.figures.data(fig)` has one row per relation: `category, task, n` (pairs), `k, n_heads` (that
        reach the threshold), `best_head` (of equal ones the last), `best, threshold, null, r_with, r_without` (NaN
        where not measured) and `heads` (such as "L3H4, L0H1", the best first). `to_csv` writes it.

    Raises:
        DataError: A variable or dimension is missing, there is no relation, or `dynamic` is of other scores.
        OptionError: Another `threshold`.
        UnknownNameError: Another `score`.

    Example:
        >>> import headcats as hc
        >>> kinds = {"country_capital": "Knowledge", "plural": "Linguistic"}
        >>> pairs = {task.name: task.pairs(40, seed=0)[:40] for task in hc.suite("icl").named(list(kinds))}
        >>> model = hc.load_model("mini")
        >>> relations = hc.methods.ov_relation(model, pairs, categories=kinds)
        >>> ask = {"templates": ["<X> →"], "bos": "once"}
        >>> written = hc.papers.ov_relation.dynamic_relation(model, pairs, relations, **ask)
        >>> fig = hc.figures.relation_table(relations, dynamic=written)
        >>> hc.figures.data(fig).task.tolist()
        ['country_capital', 'plural']

    References:
        Elhelo & Geva (2025), MAPS, arXiv 2412.11965 (relations by category, largest score over heads, correlations).
    """
    if score not in SIDES:
        raise UnknownNameError(unknown_name_message("score", score, SIDES))
    side = "" if score == "score" else "suppression_"
    per_task = dict.fromkeys((f"{side}null", f"{side}threshold", "n", "k"), ("task",))
    table = 'hc.suite_blocks(results)["ov_relation"]'
    require(relations, {score: ("task", "layer", "head"), **per_task}, figure="relation_table", table=table)
    if not relations.sizes["task"]:
        raise DataError(f"relation_table expects at least one relation; got none. Pass {table}.")
    least = _least(relations[f"{side}threshold"], threshold)
    r = _correlations(relations, dynamic, score, side)
    rows = []
    for kind, task in by_category(relations):
        at = relations.sel(task=task)
        numbers = {"n": int(at["n"]), "k": int(at["k"]), "threshold": float(least.sel(task=task))}
        numbers |= {"null": float(at[f"{side}null"])} | {
            name: float(values.sel(task=task)) for name, values in r.items()
        }
        rows.append({"category": kind, "task": task, **numbers, **_best(at, score, numbers["threshold"])})
    order = ["category", "task", "n", "k", "n_heads", "best_head", "best", "threshold", "null", *r, "heads"]
    frame = pd.DataFrame(rows)[order]
    columns = _columns(frame, score)
    lefts = np.cumsum([0, *(column.width for column in columns)])
    x = Axis("place", int(lefts[-1]) + _BAR + _APART)
    y = Axis("row", len(frame) + 1, reverse=True)
    plot = Plot(x, y, (x.n, _ROW * y.n), [*_rules(frame, x.n), *_bars(frame, int(lefts[-1])), *_texts(frame, columns)])
    return PanelGrid([Panel("", [plot])], frame, title, _caption(frame, score, dynamic is not None))


def _least(calibrated: xr.DataArray, threshold: Any) -> xr.DataArray:
    if threshold == "calibrated":
        return calibrated
    if not isinstance(threshold, int | float) or isinstance(threshold, bool) or not 0 < threshold <= 1:
        raise OptionError(f'relation_table(threshold) is "calibrated" or a number in (0, 1]; got {threshold!r}.')
    return xr.full_like(calibrated, float(threshold), dtype=float)


def _correlations(relations: xr.Dataset, dynamic: Any, score: str, side: str) -> dict[str, xr.DataArray]:
    """`r_with` and `r_without` of every relation; NaN where `dynamic` has none."""
    tasks = relations["task"].values
    if dynamic is None:
        nothing = xr.DataArray(np.full(len(tasks), np.nan), coords={"task": tasks}, dims="task")
        return {"r_with": nothing, "r_without": nothing}
    check_dynamic(dynamic, side=side, figure="relation_table(dynamic=)", variables={})
    shared = [task for task in dynamic["task"].values if task in tasks]
    by_weights, beside_text = (
        table.sel(task=shared).transpose("task", "layer", "head").values
        for table in (relations[score], dynamic[f"{side}static"])
    )
    same = by_weights.shape == beside_text.shape and np.allclose(by_weights, beside_text, equal_nan=True)
    if not shared or not same:
        raise DataError(
            f"relation_table(dynamic=) is of other relations or scores than the table ({len(shared)} of "
            f"{pluralize(dynamic.sizes['task'], 'relation')} shared): pass dynamic_relation(model, pairs, relations) "
            "with these relations."
        )
    r = dynamic[f"{side}pooled_r"].reindex(task=tasks)
    return {f"r_{context}": r.sel(context=context) for context in ("with", "without")}


def _best(relation: xr.Dataset, score: str, least: float) -> dict[str, Any]:
    """The heads that implement a relation, and the best head, whether it does or not."""
    heads = head_rows(relation, {"score": relation[score]}).dropna(subset=["score"])
    # As in the ablation: of equal scores the later head first.
    heads = heads.iloc[::-1].sort_values("score", ascending=False, kind="stable")
    reach = heads[heads["score"] >= least]
    return {
        "n_heads": len(reach),
        "best_head": heads["name"].iloc[0] if heads["score"].iloc[0] > 0 else "",
        "best": float(heads["score"].iloc[0]),
        "heads": ", ".join(reach["name"]),
    }


def _columns(frame: pd.DataFrame, score: str) -> list[_Column]:
    """From left to right; the best score comes last, beside its bar."""
    kinds, tasks = (frame[name].map(lambda text: shortened(str(text), most=_LONGEST)) for name in ("category", "task"))
    columns = []
    if frame["category"].any():
        first = kinds.where(kinds != kinds.shift(), "")
        columns.append(_Column("category", list(first), "of the relation", centred=False))
    columns.append(_Column("relation", list(tasks), "pairs of words", centred=False))
    columns.append(_Column("pairs", [str(n) for n in frame["n"]], "of single tokens, which were scored"))
    if frame[["r_with", "r_without"]].notna().any(axis=None):
        for name, context in (("r_without", "without"), ("r_with", "with")):
            meaning = "correlation of scores by weights and in text, over heads and templates"
            columns.append(_Column(f"r {context} context", [_number(r) for r in frame[name]], meaning))
    null, least = ([_number(value) for value in frame[name]] for name in ("null", "threshold"))
    columns.append(_Column("null", null, f"99.9th percentile of the {score} with permuted targets"))
    columns.append(_Column("threshold", least, f"lowest {score} of a head that counts"))
    columns.append(_Column("heads", [str(n) for n in frame["n_heads"]], "that reach the threshold"))
    columns.append(_Column("best head", [name or _NONE for name in frame["best_head"]], "of equal ones the last"))
    best = [_number(value) for value in frame["best"]]
    return [*columns, _Column(f"best {score}", best, "share of pairs whose target is among its k tokens")]


def _texts(frame: pd.DataFrame, columns: Sequence[_Column]) -> list[go.Scatter]:
    """Each column as texts, and its heading in bold."""
    hover_texts = [_hover_text(row) for row in frame.itertuples()]
    places = np.arange(len(frame) + 1)
    traces, left = [], 0
    for column in columns:
        at = left + column.width // 2 if column.centred else left
        traces.append(
            go.Scatter(
                x=np.full(len(places), at),
                y=places,
                mode="text",
                name=column.name,
                text=[f"<b>{escaped(column.name)}</b>", *map(escaped, column.texts)],
                textposition="middle center" if column.centred else "middle right",
                textfont={"size": MEDIUM, "color": TEXT},
                hovertext=[f"<b>{column.name}</b>: {column.meaning}", *hover_texts],
                hovertemplate="%{hovertext}<extra></extra>",
            )
        )
        left += column.width
    return traces


def _bars(frame: pd.DataFrame, left: int) -> list[go.Scatter]:
    """The best score as a bar, and an upright line at the threshold."""
    gap, traces = np.nan, []
    reached = frame["best"] >= frame["threshold"]
    for name, chosen, colour in (("below the threshold", ~reached, FAINT), ("reaches the threshold", reached, HATCH)):
        xs = [place for best in frame.loc[chosen, "best"] for place in (left, left + _BAR * best, gap)]
        ys = [place for row in np.flatnonzero(chosen) for place in (row + 1, row + 1, gap)]
        traces.append(go.Scatter(x=xs, y=ys, mode="lines", line={"color": colour, "width": 10}, name=name))
    at = left + _BAR * frame["threshold"]
    xs = [place for end in at for place in (end, end, gap)]
    ys = [place for row in range(len(frame)) for place in (row + 0.6, row + 1.4, gap)]
    return [*traces, go.Scatter(x=xs, y=ys, mode="lines", line={"color": TEXT, "width": 1.2}, name="threshold")]


def _rules(frame: pd.DataFrame, width: int) -> list[go.Scatter]:
    """Lines below the headings and between categories."""
    starts = np.flatnonzero(frame["category"] != frame["category"].shift())
    ys = [place for row in starts for place in (row + 0.5, row + 0.5, np.nan)]
    xs = [0, width, np.nan] * len(starts)
    return [go.Scatter(x=xs, y=ys, mode="lines", line={"color": TICK, "width": 0.8}, name="rules")]


def _hover_text(row: Any) -> str:
    names = row.heads.split(", ") if row.heads else []
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    heads = f"{pluralize(len(names), 'head')}: {', '.join(names[:_NAMED])}{more}" if names else "no head reaches it"
    where = f" ({escaped(row.category)})" if row.category else ""
    return (
        f"<b>{escaped(row.task)}</b>{where}<br>threshold {_number(row.threshold)}, k {row.k}, {row.n} pairs<br>{heads}"
    )


def _number(value: float) -> str:
    return _NONE if np.isnan(value) else f"{value:.2f}"


def _caption(frame: pd.DataFrame, score: str, has_dynamic: bool) -> list[str]:
    reached = int((frame["n_heads"] > 0).sum())
    parts = [
        f"{reached} of {pluralize(len(frame), 'relation')} reached by some head",
        f"heads: {score} ≥ threshold",
        "null: 99.9th percentile with permuted targets",
        "bar: best, | threshold",
    ]
    if has_dynamic:
        parts.append("r: of scores by weights and in text, over heads and templates")
        if missing := int(frame[["r_with", "r_without"]].isna().any(axis=1).sum()):
            parts.append(f"{_NONE} not measured, or constant: {pluralize(missing, 'relation')}")
    return parts
