"""Accuracy on relations while their heads are zeroed, beside random heads and control tasks."""

import math

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import xarray as xr

from headcats.base.errors import DataError, pluralize
from headcats.figures.colours import HATCH, TEXT
from headcats.figures.figure import figure
from headcats.figures.panels.axes import Axis, Scale
from headcats.figures.panels.curves import band_and_mean, marked_line
from headcats.figures.panels.grid import PanelGrid
from headcats.figures.panels.layout import Panel, Plot
from headcats.figures.panels.text import escaped, hover
from headcats.figures.tables import require
from headcats.papers.ov_relation.summary import by_category

_VARIABLES = {
    **dict.fromkeys(("accuracy", "head"), ("task", "k")),
    **dict.fromkeys(("random", "random_head"), ("task", "sequence", "k")),
    "control": ("task", "other", "k"),
    "control_task": ("task", "other"),
    **dict.fromkeys(("n_heads", "n_removed"), ("task",)),
}
_TABLE = "hc.papers.ov_relation.relation_ablation(model, relations, prompts)"
RELATION, RANDOM, CONTROL = "relation heads", "random heads", "relation heads, control task"
_SIZE = (250, 190)  # pixels of a panel
_TICKS, _MARKS = 10, 16  # at most


@figure
def relation_curves(ablated: xr.Dataset, *, title: str | None = None) -> PanelGrid:
    """Accuracy after the first 1, 2, ... heads of each relation are zeroed; one panel per relation.

    y = share of prompts whose answer is the most likely token, x = heads zeroed, the same scales in all panels. Solid
    line with circles: the relation's own prompts. Grey: from the least to the most of the sequences of as many random
    heads, on the same prompts, with a dotted line for their mean. Dashed line with squares: the relation's heads zeroed
    on the prompts of its control tasks, mean over them; thin dashed lines: each. Below a panel's name stand the numbers
    of the paper's table: accuracy before, and where it first is 0 or all heads are gone. Hover names the head that went
    last.

    Args:
        ablated: What `hc.papers.ov_relation.relation_ablation` returns.
        title: Written above the panels.

    Returns:
        The figure. `hc.figures.data(fig)` has one row per relation, curve and number of heads: `category, task, zeroed`
        ("relation heads", "random heads" or "relation heads, control task"), `run` ("" for the relation, the number of
        a random sequence from 1, or the control task), `k, accuracy, last_head` (that went last; "" at 0).

    Raises:
        DataError: A variable or dimension is missing, or there is no relation.

    Example:
        >>> import headcats as hc
        >>> model = hc.load_model("mini")
        >>> (task,) = hc.suite("icl").named(["country_capital"])
        >>> relations = hc.methods.ov_relation(model, {"country_capital": task.pairs(40, seed=0)[:40]})
        >>> texts = {"country_capital": hc.methods.task_texts("country_capital", n_prompts=16)}
        >>> fig = hc.figures.relation_curves(hc.papers.ov_relation.relation_ablation(model, relations, texts))
        >>> sorted(set(hc.figures.data(fig).zeroed))
        ['random heads', 'relation heads']

    References:
        Elhelo & Geva (2025), MAPS, arXiv 2412.11965 (accuracy without relation heads, random heads and control tasks).
    """
    require(ablated, _VARIABLES, figure="relation_curves", table=_TABLE, counted=False)
    if not ablated.sizes["task"]:
        raise DataError(f"relation_curves expects at least one relation; got none. Pass {_TABLE}.")
    ablated = ablated.transpose("task", "sequence", "other", "k")
    frame = pd.concat([_rows(ablated.sel(task=task), kind, task) for kind, task in by_category(ablated)])
    frame = frame.reset_index(drop=True)
    longest = int(frame["k"].max()) + 1
    x = Axis("k", longest, "heads zeroed", most=_TICKS)
    y = Scale(-0.04, 1.04, "accuracy")
    panels = []
    for (kind, task), rows in frame.groupby(["category", "task"], sort=False):
        numbers = ablated[["n_heads", "n_removed"]].sel(task=task)
        panels.append(Panel(task, [Plot(x, y, _SIZE, _traces(rows))], notes=_notes(rows, numbers), section=kind))
    return PanelGrid(panels, frame, title, _caption(frame))


def _rows(ablated: xr.Dataset, kind: str, task: str) -> pd.DataFrame:
    """One relation: its own curve, the random ones and those of controls, without what lies beyond their ends."""
    own_heads = ablated["head"].values
    curves = [(RELATION, "", ablated["accuracy"].values, own_heads)]
    for number, (values, heads) in enumerate(
        zip(ablated["random"].values, ablated["random_head"].values, strict=True), start=1
    ):
        curves.append((RANDOM, str(number), values, heads))
    curves += [
        (CONTROL, str(name), values, own_heads)
        for name, values in zip(ablated["control_task"].values, ablated["control"].values, strict=True)
        if name
    ]
    parts = [
        pd.DataFrame({"zeroed": zeroed, "run": run, "k": ablated["k"].values, "accuracy": values, "last_head": heads})
        for zeroed, run, values, heads in curves
    ]
    rows = pd.concat(parts)
    rows.insert(0, "category", kind)
    rows.insert(1, "task", task)
    return rows[rows["accuracy"].notna()].astype({"last_head": str})


def _traces(rows: pd.DataFrame) -> list[go.Scatter]:
    name = escaped(rows["task"].iloc[0])
    by_kind = dict(list(rows.groupby("zeroed")))
    traces: list[go.Scatter] = []
    if RANDOM in by_kind:
        spread = by_kind[RANDOM].groupby("k")["accuracy"].agg(["min", "max", "mean"])
        ends = (spread[column].to_numpy() for column in ("min", "max", "mean"))
        traces += band_and_mean(spread.index.to_numpy(), *ends, name="random heads, least to most")
    if CONTROL in by_kind:
        controls = by_kind[CONTROL]
        for run, curve in controls.groupby("run", sort=False):
            template = f"<b>first %{{k}} heads</b> of {name}<br>accuracy on {escaped(run)} %{{accuracy:.3f}}"
            line = {"color": HATCH, "width": 0.8, "dash": "dash"}
            traces.append(
                go.Scatter(
                    x=curve["k"].to_numpy(),
                    y=curve["accuracy"].to_numpy(),
                    mode="lines",
                    line=line,
                    name=str(run),
                    **hover(template, curve, x="k", y="accuracy"),
                )
            )
        mean = controls.groupby("k")["accuracy"].agg(["mean", "count"]).reset_index()
        template = f"<b>first %{{k}} heads</b> of {name}<br>mean accuracy of %{{count}} control tasks %{{mean:.3f}}"
        traces.append(_line(mean, "mean", (HATCH, "square", "dash"), CONTROL, template))
    template = f"<b>%{{last_head}}</b> gone, %{{k}} heads of {name} in all<br>accuracy %{{accuracy:.3f}}%{{beside}}"
    relation = by_kind[RELATION]
    random = by_kind[RANDOM].groupby("k")["accuracy"].mean() if RANDOM in by_kind else pd.Series(dtype=float)
    beside = [f"<br>without random heads {random[k]:.3f} (mean)" if k in random else "" for k in relation["k"]]
    relation = relation.assign(beside=beside, last_head=relation["last_head"].replace("", "no head"))
    return [*traces, _line(relation, "accuracy", (TEXT, "circle", "solid"), RELATION, template)]


def _line(rows: pd.DataFrame, column: str, look: tuple[str, str, str], name: str, template: str) -> go.Scatter:
    every, places, values = max(1, math.ceil(len(rows) / _MARKS)), rows["k"].to_numpy(), rows[column].to_numpy()
    pointed = hover(template, rows, x="k", y=column)
    return marked_line(places, values, look=look, name=name, every=every, hover=pointed)


def _notes(rows: pd.DataFrame, numbers: xr.Dataset) -> list[str]:
    """Accuracy before and after, as the paper's table has them."""
    n_heads, end = int(numbers["n_heads"]), int(numbers["n_removed"])
    at = {zeroed: part.set_index("k")["accuracy"] for zeroed, part in rows.groupby("zeroed")}
    of = f"{end} of {pluralize(n_heads, 'head')}" if end < n_heads else pluralize(end, "head")
    before, without = (_shown(at.get(RELATION, pd.Series(dtype=float)).get(k, np.nan)) for k in (0, end))
    notes = [f"{before}, without {of} {without}"]
    random = np.atleast_1d(at[RANDOM].get(end, np.array([]))) if RANDOM in at else np.array([])
    beside = f"without random heads {random.mean():.2f} ± {random.std():.2f}" if len(random) else "too few other heads"
    notes.append(beside)
    if CONTROL in at:
        n = rows.loc[rows["zeroed"] == CONTROL, "run"].nunique()
        means = at[CONTROL].groupby(level=0).mean()
        before, without = (_shown(means.get(k, np.nan)) for k in (0, end))
        notes.append(f"{pluralize(n, 'control task')} {before}, without the heads {without}")
    else:
        notes.append("no control task")
    return notes


def _shown(value: float) -> str:
    return "-" if np.isnan(value) else f"{value:.2f}"


def _caption(frame: pd.DataFrame) -> list[str]:
    n = frame.loc[frame["zeroed"] == RANDOM, "run"].nunique()
    return [
        "● heads of the relation zeroed, solid",
        f"grey: least to most of {pluralize(n, 'sequence')} of random heads, dotted: mean" if n else "no random heads",
        "■ the same heads, on control tasks: mean, dashed; thin: each",
        "± standard deviation over sequences",
    ]
