"""One panel per function (or category, task, method): how much every head matters for it."""

import math
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from headcats.base.errors import OptionError
from headcats.figures.colours import ON_DARK
from headcats.figures.figure import figure
from headcats.figures.panels.cells import TINY, Cells
from headcats.figures.panels.colour_scale import ColourScale, rising_scale
from headcats.figures.panels.grid import PanelGrid
from headcats.figures.panels.heads import LAYERS_ACROSS, check_layout, layer_head_cells
from headcats.figures.panels.layout import MARKED, Panel, Plot
from headcats.figures.panels.text import escaped
from headcats.figures.tables import head_rows
from headcats.papers.function_probe.summary import SEPARATES_TASKS, accuracies, refuse_chance
from headcats.papers.panels import head_layer_cells, panel_names, pick_variable
from headcats.results.head_axes import kv_head_of, letter, unit_attrs, unit_of

# Variable -> what the colour bar calls it. The first that a dataset has is drawn.
SCORES = {"importance": "Heads Importance"} | {
    name: f"Heads Importance ({name})"
    for name in ("effect", "score", "facilitation", "interference", "irrelevance", "strength")
}
PANELS = ("function", "category", "task", "method", "dataset", "group")
_SIZE, _LARGEST = 240, 3  # pixels of the longer side of a panel, about; heads named above it


@figure
def importance_grid(
    importance: xr.Dataset,
    *,
    variable: str | None = None,
    clip: float | None = None,
    layout: str = LAYERS_ACROSS,
    marks: str = MARKED,
    title: str | None = None,
) -> PanelGrid:
    """Importance of every head, one panel per function, category, task or method.

    x = layer, y = head, head 0 on top; with `layout="paper"` the axes of the paper, x = Head, y = Layer, layer 0 on
    top, with ticks every 6 (on every one of up to 16). Viridis, one colour bar for all panels, clipped at the 99th
    percentile; its last tick ends in "+" if values lie beyond. Eight functions stand in two rows of four, in the order
    of the probe's scheme.

    **The probe's `importance` is signed (a head can speak against a function) and shown by its absolute value, averaged
    over seeds. Every other score is shown as it is, averaged over seeds, values below 0 in the colour of 0.** Triangles
    mark heads whose score is negative by at least half of the scale; circles the largest of each panel, which its
    second line names (for a `score` with a `threshold` per panel, as in `ov_relation`, only heads that reach it). Heads
    without a number are grey with a cross.

    Args:
        importance: `importance (function | category | task | method, layer, head)`, with or without `seed`, as
            `hc.methods.function_probe` returns it; or the first of `effect`, `score`, `facilitation`, `interference`,
            `irrelevance`, `strength` in the results of `hc.score`, `hc.categorize` and other methods, whose panels may
            also be `dataset` or `group`. Optional: `low`, `high` (interval of `effect`) and `tasks` over the same
            dimensions.
        variable: Another of these variables.
        clip: Upper end of the colours, above 0, in the unit of the scores; by default the 99th percentile.
        layout: `"layers"`: layer along x, as in other figures; `"paper"`: heads along x.
        marks: `"all"`, or `"none"` for colours alone: no rings, triangles and crosses on cells, nothing below the title
            and the names of panels; with `layout="paper"` a copy for publication, with ticks every 6 at any size. Only
            the pointer and the numbers then tell which heads are negative.
        title: Written above the panels. It says so if the probe cannot tell functions from their tasks (attribute
            `verdict`); held-out and leave-one-task-out accuracies stand below it.

    Returns:
        The figure. `hc.figures.data(fig)` has one row per panel and head: `panel, layer, head, name, variable, score`
        (signed), `shown` (what is coloured), `low, high` (of `score`: the interval of effects, otherwise the smallest
        and largest of the seeds, or NaN), `rank` (1 = largest `shown` of its panel; NaN without a number), `negative,
        named` and `tasks`; where heads share keys and values also `kv_head`.

    Raises:
        DataError: no such variable over these dimensions; a probe that is not above chance, or in too few of its seeds.
        OptionError: `clip` not above 0, or another `variable`.
        UnknownNameError: another word for `layout` or `marks`.

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
    check_layout(layout)
    name, row = pick_variable(
        importance,
        (variable,) if variable else tuple(SCORES),
        grid=("layer", "head"),
        rows=PANELS,
        figure="importance_grid",
        table='hc.suite_blocks(results)["function_probe"], or hc.score(results)',
    )
    refuse_chance(importance)
    panel_labels = [name] if row is None else panel_names(importance, row, figure="importance_grid")
    table, interval = _table(importance, name, row)
    thresholds = {}
    # From which score on a head of a panel counts, as `ov_relation` says.
    if name == "score" and "threshold" in importance and importance["threshold"].dims == (row,):
        thresholds = dict(zip(map(str, importance[row].values), importance["threshold"].values.tolist(), strict=True))
    frames = [_rows(table.sel(panel=n), n, name, thresholds.get(n, -math.inf)) for n in panel_labels]
    frame = pd.concat(frames, ignore_index=True)
    scale = rising_scale(frame["shown"].to_numpy(), colours="Viridis", name=SCORES[name], clip=clip)
    within = _SIZE, _SIZE
    across = layout == LAYERS_ACROSS
    cells = (
        layer_head_cells(importance, within=within)
        if across
        else head_layer_cells(importance, within=within, published_step=6, reverse=True, marks=marks)
    )
    panels = [
        Panel(
            n,
            [_plot(cells, panel_rows, scale, interval, unit_of(importance))],
            notes=[_largest(panel_rows, thresholds.get(n))],
        )
        for n, panel_rows in zip(panel_labels, frames, strict=True)
    ]
    caption = [*accuracies(importance), *_caption(frame, scale.limit, least=bool(thresholds))]
    if importance.attrs.get("verdict") == SEPARATES_TASKS and SEPARATES_TASKS not in (title or ""):
        title = f"{title}: {SEPARATES_TASKS}" if title else SEPARATES_TASKS.capitalize()
    columns = 4 if len(panel_labels) <= 8 else len(panel_labels)
    return PanelGrid(panels, frame, title, caption, columns, beside=scale, grey=True, marks=marks)


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
    empty = xr.full_like(table["score"], np.nan)
    table = {"low": empty, "high": empty, "tasks": xr.DataArray("")} | table
    if "tasks" in importance.data_vars and set(importance["tasks"].dims) <= set(empty.dims):
        table["tasks"] = importance["tasks"].astype(str)
    elif row == "function":
        tasks = [_function_tasks(importance, str(label)) for label in values[row].values]
        table["tasks"] = xr.DataArray(tasks, dims=row)
    bare = {key: value.reset_coords(drop=True).broadcast_like(empty) for key, value in table.items()}
    renamed = xr.Dataset(bare).reset_coords(drop=True).rename({row: "panel"} if row != "panel" else {})
    coords = {"panel": renamed["panel"].astype(str)} | kv_head_of([importance])
    return renamed.assign_coords(coords).assign_attrs(unit_attrs(unit_of(importance))), interval


def _function_tasks(probe: xr.Dataset, function: str) -> str:
    """Tasks of a function, comma-separated, each with the accuracy on it when it was left out, if it was."""
    if "task_function" not in probe.coords:
        return ""
    of_function = probe.sel(task=probe["task_function"] == function)
    tasks = [str(task) for task in of_function["task"].values]
    if "task_left_out_accuracy" not in of_function:
        return ",".join(tasks)
    shares = of_function["task_left_out_accuracy"]
    means = shares.mean([dim for dim in shares.dims if dim != "task"]).values
    suffixes = ["" if math.isnan(share) else f" (left out: {share:.2f})" for share in means]
    return ",".join(task + suffix for task, suffix in zip(tasks, suffixes, strict=True))


def _rows(table: xr.Dataset, panel: str, variable: str, least: float) -> pd.DataFrame:
    columns = {"variable": xr.full_like(table["tasks"], variable, dtype=object)}
    rows = head_rows(table, columns | {column: table[column] for column in ("score", "shown", "low", "high")})
    rows.insert(0, "panel", panel)
    rows["rank"] = rows["shown"].rank(ascending=False, method="first")
    rows["negative"] = rows["score"] < 0
    most = max(1, min(_LARGEST, int(rows["shown"].notna().sum()) // 4))
    rows["named"] = (rows["rank"] <= most) & (rows["shown"] > 0) & (rows["shown"] >= least)
    rows["tasks"] = table["tasks"].transpose("layer", "head").to_numpy().ravel()
    return rows


def _plot(cells: Cells, rows: pd.DataFrame, scale: ColourScale, interval: str, unit: str) -> Plot:
    name, variable = (str(rows[column].iloc[0]) for column in ("panel", "variable"))
    tasks = rows["tasks"].map(lambda joined: f"<br>tasks: {escaped(joined).replace(',', ', ')}" if joined else "")
    template = (
        f"<b>L%{{layer}}{letter(unit)}%{{head}}</b> {escaped(name)}<br>{variable} %{{score:.3g}}"
        + (f" [%{{low:.3g}}, %{{high:.3g}}] {interval}" if interval else "")
        + ("%{spoken}" if tasks.any() else "")
    )
    traces = [cells.heatmap(rows.assign(spoken=tasks), "shown", name=name, template=template)]
    negative, largest = rows[_strongly_negative(rows, scale.limit)], rows[rows["named"]]
    ink = scale.ink(negative["shown"])
    traces.append(cells.symbols(negative, name="negative", symbol="triangle-down", share=0.4, colour=ink))
    # A ring around a cell smaller than itself lies on its neighbours, which are dark mostly.
    ink = scale.ink(largest["shown"]) if cells.smallest >= TINY else np.full(len(largest), ON_DARK)
    ring: dict[str, Any] = {"symbol": "circle-open", "share": 0.75, "least": 7, "line": {"width": 1.4}}
    traces += [cells.symbols(largest, name="largest", colour=ink, **ring), cells.crosses(rows[rows["shown"].isna()])]
    return cells.plot(traces)


def _strongly_negative(frame: pd.DataFrame, limit: float) -> pd.Series:
    return frame["negative"] & (frame["score"] <= -limit / 2)


def _largest(rows: pd.DataFrame, threshold: float | None) -> str:
    if rows["shown"].isna().all():
        return "no value"
    nobody = "none above 0" if threshold is None else f"none reaches {threshold:.3g}"
    return ", ".join(rows[rows["named"]].sort_values("rank")["name"]) or nobody


def _caption(frame: pd.DataFrame, limit: float, *, least: bool) -> list[str]:
    reach = " among the heads that reach its threshold" if least else ""
    parts = [f"○ largest of a panel{reach}, named above it"]
    if _strongly_negative(frame, limit).any():
        parts.append("▼ negative, by at least half of the scale")
    return parts
