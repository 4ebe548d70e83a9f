"""One panel per function (or category, task, method): how much every head matters for it."""

import math
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from headcats.errors import OptionError
from headcats.figures.colours import ON_DARK
from headcats.figures.figure import figure
from headcats.figures.panels.axes import Axis
from headcats.figures.panels.cells import TINY, Cells, square_cells
from headcats.figures.panels.colour_scale import ColourScale, rising_scale
from headcats.figures.panels.grid import PanelGrid
from headcats.figures.panels.layout import Panel, Plot
from headcats.figures.panels.text import escaped
from headcats.figures.tables import head_rows, n_cells, panel_names, pick_variable
from headcats.methods.function_probe.figure_text import accuracies, function_tasks, refuse_chance, titled

# Variable -> what the colour bar calls it. The first that a dataset has is drawn.
SCORES = {"importance": "Heads Importance"} | {
    name: f"Heads Importance ({name})"
    for name in ("effect", "score", "facilitation", "interference", "irrelevance", "strength")
}
PANELS = ("function", "category", "task", "method", "dataset", "group")
TICKS = 6
_SIZE, _LARGEST = 240, 3  # pixels of the longer side of a panel, about; heads named above it


@figure
def importance_grid(
    importance: xr.Dataset, *, variable: str | None = None, clip: float | None = None, title: str | None = None
) -> PanelGrid:
    """How much every head matters, one panel per function, category, task or method.

    x = Head, y = Layer, layer 0 on top, ticks every 6, as in the paper (on every one of up to 16 that have
    room: in steps of 6 a small model would have two numbers); viridis, one colour
    bar for all panels, clipped at the 99th percentile: where values lie beyond, its last tick ends in "+". Eight
    functions stand in two rows of four, in the order of the probe's scheme; any number of panels is laid out in rows of
    equal length.

    **The probe's `importance` is signed (a head can speak against a function) and shown by its absolute value, with
    seeds averaged after taking it. Every other score is shown as it is, values below 0 in the colour of 0, its seeds
    averaged.** A triangle marks heads whose score is negative, by at least half of the scale; circles mark the
    largest of each panel, which its second line names (of a `score` with a `threshold` over the panels, as
    `ov_relation` has it, only heads that reach it); heads without a number are grey with a cross.

    Args:
        importance: `importance (function | category | task | method, layer, head)`, with or without `seed`, as
            `hc.methods.function_probe` returns it; or any of `effect`, `score`, `facilitation`, `interference`,
            `irrelevance`, `strength` in its place (results of `hc.score`, `hc.categorize` and other methods; panels
            may be `dataset` or `group`, too): the first of these that is there. Optional: `low`, `high` (interval of
            `effect`) and `tasks` over the same dimensions.
        variable: Another of these variables.
        clip: Upper end of the colours, above 0, in the unit of the scores; the 99th percentile if none is given.
        title: Written above the panels. Where the probe cannot tell functions from their tasks (attribute `verdict`),
            the title says so; held-out and leave-one-task-out accuracies stand below it.

    Returns:
        The figure. `hc.figures.data(fig)` has one row per panel and head: `panel, layer, head, name, variable, score`
        (signed), `shown` (what is coloured), `low, high` (of `score`: the interval of effects, otherwise the smallest
        and largest of the seeds; NaN if there is neither), `rank` (1 = largest `shown` of its panel; NaN without a
        number), `negative, named` and `tasks`.

    Raises:
        DataError: no such variable over these dimensions; a probe that is not above chance, or in too few of its seeds.
        OptionError: `clip` not above 0, or another `variable`.

    References:
        Layout after Ma et al. (2025), Cognitive Mirrors, arXiv 2512.10978.

    Example:
        >>> import headcats as hc
        >>> scores = hc.score(hc.load("results/mini-icl"), method="mean_ablation")
        >>> fig = hc.figures.importance_grid(hc.categorize(scores), clip=0.2)
        >>> hc.figures.data(fig).columns.tolist()[:7]
        ['panel', 'layer', 'head', 'name', 'variable', 'score', 'shown']
    """
    if clip is not None and not (clip > 0 and math.isfinite(clip)):
        raise OptionError(f"importance_grid expects clip above 0, the upper end of its colours; got {clip}.")
    if variable is not None and variable not in SCORES:
        raise OptionError(f"importance_grid shows one of {', '.join(SCORES)}; got variable={variable!r}.")
    source = "hc.methods.function_probe, hc.score or hc.categorize"
    names = (variable,) if variable else tuple(SCORES)
    name, row = pick_variable(
        importance,
        names,
        grid=("layer", "head"),
        rows=PANELS,
        figure="importance_grid",
        source=source,
        table='hc.suite_blocks(results)["function_probe"], or hc.score(results)',
    )
    refuse_chance(importance, figure="importance_grid")
    categories = importance.attrs.get("categories")
    panel_labels = [name]
    if row is not None:
        panel_labels = panel_names(importance[name], row, categories=categories, figure="importance_grid")
    table, interval = _table(importance, name, row)
    thresholds = {}
    # Whether the table says from which score on a head of a panel counts, as that of `ov_relation` does.
    if name == "score" and "threshold" in importance and importance["threshold"].dims == (row,):
        thresholds = dict(zip(map(str, importance[row].values), importance["threshold"].values.tolist(), strict=True))
    frames = [_rows(table.sel(panel=n), n, name, thresholds.get(n, -math.inf)) for n in panel_labels]
    frame = pd.concat(frames, ignore_index=True)
    scale = rising_scale(frame["shown"].to_numpy(), colours="Viridis", name=SCORES[name], clip=clip)
    layers, heads = (n_cells(importance, dim) for dim in ("layer", "head"))
    x, y = Axis("head", heads, "Head"), Axis("layer", layers, "Layer", reverse=True)
    size = square_cells(x, y, within=(_SIZE, _SIZE))
    cells = Cells(x.every(TICKS, size[0]), y.every(TICKS, size[1]), size)
    panels = [
        Panel(n, [_plot(cells, panel_rows, scale, interval)], notes=[_largest(panel_rows, thresholds.get(n))])
        for n, panel_rows in zip(panel_labels, frames, strict=True)
    ]
    caption = [*accuracies(importance), *_caption(frame, scale.limit, least=bool(thresholds))]
    columns, title = 4 if len(panel_labels) <= 8 else len(panel_labels), titled(title, importance)
    return PanelGrid(panels, frame, title, caption, columns, beside=scale, grey=True)


def _table(importance: xr.Dataset, name: str, row: str | None) -> tuple[xr.Dataset, str]:
    """`score, shown, low, high, tasks (panel, layer, head)`, and what `low` and `high` are, "" where there are none."""
    values = importance[name].astype(float)
    if row is None:
        row, values = "panel", values.expand_dims(panel=[name])
    size = abs(values) if name == "importance" else values
    table, interval = {"score": values, "shown": size}, ""
    if "seed" in values.dims:
        table = {"score": values.mean("seed"), "shown": size.mean("seed")}
        if values.sizes["seed"] > 1:
            table |= {"low": values.min("seed"), "high": values.max("seed")}
            interval = f"over {values.sizes['seed']} seeds"
    elif name == "effect" and {"low", "high"} <= set(importance.data_vars):
        table, interval = table | {"low": importance["low"], "high": importance["high"]}, "95 %"
    nothing = xr.full_like(table["score"], np.nan)
    table = {"low": nothing, "high": nothing, "tasks": xr.DataArray("")} | table
    if "tasks" in importance.data_vars and set(importance["tasks"].dims) <= set(nothing.dims):
        table["tasks"] = importance["tasks"].astype(str)
    elif row == "function":
        tasks = [function_tasks(importance, str(label)) for label in values[row].values]
        table["tasks"] = xr.DataArray(tasks, dims=row)
    bare = {key: value.reset_coords(drop=True).broadcast_like(nothing) for key, value in table.items()}
    renamed = xr.Dataset(bare).reset_coords(drop=True).rename({row: "panel"} if row != "panel" else {})
    return renamed.assign_coords(panel=renamed["panel"].astype(str)), interval


def _rows(here: xr.Dataset, panel: str, variable: str, least: float) -> pd.DataFrame:
    columns = {"variable": xr.full_like(here["tasks"], variable, dtype=object)}
    rows = head_rows(here, columns | {column: here[column] for column in ("score", "shown", "low", "high")})
    rows.insert(0, "panel", panel)
    rows["rank"] = rows["shown"].rank(ascending=False, method="first")
    rows["negative"] = rows["score"] < 0
    most = max(1, min(_LARGEST, int(rows["shown"].notna().sum()) // 4))
    rows["named"] = (rows["rank"] <= most) & (rows["shown"] > 0) & (rows["shown"] >= least)
    rows["tasks"] = here["tasks"].transpose("layer", "head").to_numpy().ravel()
    return rows


def _plot(cells: Cells, here: pd.DataFrame, scale: ColourScale, interval: str) -> Plot:
    name, variable = (str(here[column].iloc[0]) for column in ("panel", "variable"))
    tasks = here["tasks"].map(lambda joined: f"<br>tasks: {escaped(joined).replace(',', ', ')}" if joined else "")
    template = (
        f"<b>L%{{layer}}H%{{head}}</b> {escaped(name)}<br>{variable} %{{score:.3g}}"
        + (f" [%{{low:.3g}}, %{{high:.3g}}] {interval}" if interval else "")
        + ("%{spoken}" if tasks.any() else "")
    )
    traces = [cells.heatmap(here.assign(spoken=tasks), "shown", name=name, template=template)]
    negative, largest = here[_strongly_negative(here, scale.limit)], here[here["named"]]
    ink = scale.ink(negative["shown"])
    traces.append(cells.symbols(negative, name="negative", symbol="triangle-down", share=0.4, colour=ink))
    # A ring around a cell smaller than itself lies on its neighbours, which are dark mostly.
    ink = scale.ink(largest["shown"]) if cells.smallest >= TINY else np.full(len(largest), ON_DARK)
    ring: dict[str, Any] = {"symbol": "circle-open", "share": 0.75, "least": 7, "line": {"width": 1.4}}
    traces += [cells.symbols(largest, name="largest", colour=ink, **ring), cells.crosses(here[here["shown"].isna()])]
    return Plot(cells.x, cells.y, cells.pixels, traces)


def _strongly_negative(frame: pd.DataFrame, limit: float) -> pd.Series:
    return frame["negative"] & (frame["score"] <= -limit / 2)


def _largest(here: pd.DataFrame, threshold: float | None) -> str:
    if here["shown"].isna().all():
        return "no value"
    nobody = "none above 0" if threshold is None else f"none reaches {threshold:.3g}"
    return ", ".join(here[here["named"]].sort_values("rank")["name"]) or nobody


def _caption(frame: pd.DataFrame, limit: float, *, least: bool) -> list[str]:
    reach = " among the heads that reach its threshold" if least else ""
    parts = [f"○ largest of a panel{reach}, named above it"]
    if _strongly_negative(frame, limit).any():
        parts.append("▼ negative, by at least half of the scale")
    return parts
