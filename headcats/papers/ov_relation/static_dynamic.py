"""Relation scores of weights against those of running text, head by head."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import xarray as xr

from headcats.base.errors import DataError, UnknownNameError, pluralize, unknown_name_message
from headcats.figures.colours import HATCH, TEXT
from headcats.figures.figure import figure
from headcats.figures.panels.axes import Axis, Scale
from headcats.figures.panels.grid import PanelGrid
from headcats.figures.panels.layout import Panel, Plot
from headcats.figures.panels.text import escaped, hover
from headcats.figures.tables import head_rows, require
from headcats.papers.ov_relation.summary import CONTEXTS, SIDES, by_category

_GRID = ("context", "template", "task", "layer", "head")
_TABLE = "hc.papers.ov_relation.dynamic_relation(model, pairs, relations)"
_CELLS, _EDGE = 100, 3  # cells of the x axis for scores from 0 to 1, and beyond both ends
_PIXELS = 200  # of a panel; heads on one pixel share a mark
_NAMED = 6  # heads of a mark


@figure
def static_dynamic(
    dynamic: xr.Dataset, *, context: str = "without", score: str = "score", title: str | None = None
) -> PanelGrid:
    """Relation scores from the weights (x) against those in running text (y); one panel per relation.

    One point per head and template, as the paper correlates them: the correlation of all points of a panel is the r
    below its name. Points on the same pixel share a mark, which grows with their number. On the dashed line both scores
    are equal: above it a head writes the target more often than its weights say, below it less often. Hover names the
    heads.

    Args:
        dynamic: What `hc.papers.ov_relation.dynamic_relation` returns.
        context: `"without"`: the last position attends to the source alone. `"with"`: the ordinary run.
        score: `"score"`, or `"suppression"`.
        title: Written above the panels.

    Returns:
        The figure. `hc.figures.data(fig)` has one row per relation, template and head: `category, task, template,
        layer, head, name, static, dynamic`, both scores in [0, 1].

    Raises:
        DataError: A variable or dimension is missing, or there is no relation.
        UnknownNameError: Another `context` or `score`.

    Example:
        >>> import headcats as hc
        >>> model = hc.load_model("mini")
        >>> (task,) = hc.suite("icl").named(["country_capital"])
        >>> pairs = {"country_capital": task.pairs(40, seed=0)[:40]}
        >>> relations = hc.methods.ov_relation(model, pairs)
        >>> ask = {"templates": ["<X> →"], "bos": "once"}
        >>> written = hc.papers.ov_relation.dynamic_relation(model, pairs, relations, **ask)
        >>> fig = hc.figures.static_dynamic(written)
        >>> len(hc.figures.data(fig)) == len(model.heads)
        True

    References:
        Elhelo & Geva (2025), MAPS, arXiv 2412.11965 (correlation of static and dynamic relation scores).
    """
    for name, value, known in (("context", context, CONTEXTS), ("score", score, SIDES)):
        if value not in known:
            raise UnknownNameError(unknown_name_message(name, value, known))
    side = "" if score == "score" else "suppression_"
    check_dynamic(dynamic, side=side, figure="static_dynamic", variables={score: _GRID})
    relations = by_category(dynamic)
    if not relations:
        raise DataError(f"static_dynamic expects at least one relation; got none. Pass {_TABLE}.")
    frame = pd.concat([_rows(dynamic.sel(task=task, context=context), side, kind, task) for kind, task in relations])
    frame = frame.reset_index(drop=True)
    r = dynamic[f"{side}pooled_r"].sel(context=context)
    ticks = [_EDGE + round(_CELLS * share) for share in (0, 0.25, 0.5, 0.75, 1)]
    texts = ["0", "0.25", "0.5", "0.75", "1"]
    x = Axis("place", _CELLS + 2 * _EDGE + 1, f"{score} by weights", ticks, tick_texts=texts)
    y = Scale(-_EDGE / _CELLS, 1 + _EDGE / _CELLS, f"{score} in text")
    panels = [
        Panel(task, [Plot(x, y, (_PIXELS, _PIXELS), _traces(rows))], notes=[_note(r.sel(task=task))], section=kind)
        for (kind, task), rows in frame.groupby(["category", "task"], sort=False)
    ]
    return PanelGrid(panels, frame, title, _caption(dynamic, context))


def check_dynamic(dynamic: Any, *, side: str, figure: str, variables: Mapping[str, tuple[str, ...]]) -> None:
    """A DataError unless a table holds the static scores of a side and r in both contexts, and these `variables`."""
    needed = {f"{side}static": _GRID[2:], f"{side}pooled_r": ("context", "task"), **variables}
    require(dynamic, needed, figure=figure, table=_TABLE)
    contexts = [str(name) for name in dynamic["context"].values]
    if sorted(contexts) != sorted(CONTEXTS):
        raise DataError(
            f"{figure} expects the contexts {', '.join(CONTEXTS)}; got {', '.join(contexts)}. Pass {_TABLE}."
        )


def _rows(dynamic: xr.Dataset, side: str, kind: str, task: str) -> pd.DataFrame:
    """Heads that exist, template by template."""
    score = "suppression" if side else "score"
    parts = []
    for template in dynamic["template"].values:
        columns = {"static": dynamic[f"{side}static"], "dynamic": dynamic[score].sel(template=template)}
        parts.append(head_rows(dynamic, columns).assign(category=kind, task=task, template=str(template)))
    rows = pd.concat(parts).dropna(subset=["static", "dynamic"])
    return rows[["category", "task", "template", "layer", "head", "name", "static", "dynamic"]]


def _traces(rows: pd.DataFrame) -> list[go.Scatter]:
    ends = np.array([0.0, 1.0])
    line = {"color": HATCH, "width": 1, "dash": "dash"}
    equal = go.Scatter(x=_EDGE + _CELLS * ends, y=ends, mode="lines", line=line, name="equal")
    marks = _marks(rows)
    template = (
        f"<b>%{{names}}</b><br>{escaped(rows['task'].iloc[0])}: by weights %{{static:.2f}}, in text %{{dynamic:.2f}}"
    )
    points = go.Scatter(
        x=_EDGE + _CELLS * marks["static"].to_numpy(),
        y=marks["dynamic"].to_numpy(),
        mode="markers",
        marker={
            "size": marks["size"].to_numpy(),
            "opacity": 1,  # plotly's own for marks of several sizes is .7
            "color": HATCH,
            "line": {"color": TEXT, "width": 0.8},
        },
        cliponaxis=False,
        name="heads",
        **hover(template, marks, y="dynamic"),
    )
    return [equal, points]


def _marks(rows: pd.DataFrame) -> pd.DataFrame:
    """One row per pixel with heads on it, the fullest first so that small marks lie on large ones."""
    pixel = [(rows[column] * _PIXELS).round() for column in ("static", "dynamic")]
    marks = rows.groupby(pixel, sort=True).agg(
        static=("static", "mean"), dynamic=("dynamic", "mean"), names=("name", _named), points=("name", "size")
    )
    marks["size"] = 5 + 2.5 * np.log10(marks["points"])
    return marks.reset_index(drop=True).sort_values("points", ascending=False, kind="stable", ignore_index=True)


def _named(names: pd.Series) -> str:
    distinct = list(dict.fromkeys(names))
    more = f" and {len(distinct) - _NAMED} more" if len(distinct) > _NAMED else ""
    return ", ".join(distinct[:_NAMED]) + more


def _note(r: xr.DataArray) -> str:
    return "r not defined: one side is constant" if np.isnan(float(r)) else f"r = {float(r):.2f}"


def _caption(dynamic: xr.Dataset, context: str) -> list[str]:
    run = "the last position attends to the source alone" if context == "without" else "the ordinary run"
    n = pluralize(dynamic.sizes["template"], "template")
    return [
        f"{context} context: {run}",
        f"one point per head and template ({n}); larger marks: more of them",
        "dashed: both scores equal",
    ]
