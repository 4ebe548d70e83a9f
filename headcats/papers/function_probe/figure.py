"""One panel per function: how much a probe relies on every head."""

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
from headcats.figures.panels.heads import LAYERS_ACROSS, check_layout, head_layer_cells, layer_head_cells
from headcats.figures.panels.layout import MARKED, Panel, Plot
from headcats.figures.panels.text import escaped
from headcats.figures.tables import head_rows, panel_names, require
from headcats.papers.function_probe.summary import SEPARATES_TASKS, accuracies, refuse_chance
from headcats.results.head_axes import letter, unit_of

_SIZE, _LARGEST = 240, 3  # pixels of the longer side of a panel, about; heads named above it


@figure
def importance_grid(
    importance: xr.Dataset,
    *,
    clip: float | None = None,
    layout: str = LAYERS_ACROSS,
    marks: str = MARKED,
    title: str | None = None,
) -> PanelGrid:
    """Importance of every head, one panel per function.

    x = layer, y = head, head 0 on top; with `layout="paper"` the axes of the paper, x = Head, y = Layer, layer 0 on
    top, with ticks every 6 (on every one of up to 16). Viridis, one colour bar for all panels, clipped at the 99th
    percentile; its last tick ends in "+" if values lie beyond. Eight functions stand in two rows of four, in the order
    of the probe's scheme.

    **Importance is signed (a head can speak against a function) and shown by its absolute value, averaged over
    seeds.** Triangles mark heads whose mean is negative by at least half of the scale; circles the largest of each
    panel, which its second line names. Heads without a number are grey with a cross.

    Args:
        importance: `importance (seed, function, layer, head)`, as `hc.methods.function_probe` returns it.
        clip: Upper end of the colours, above 0, in units of the class logit; by default the 99th percentile.
        layout: `"layers"`: layer along x, as in other figures; `"paper"`: heads along x.
        marks: `"all"`, or `"none"` for colours alone: no rings, triangles and crosses on cells, nothing below the title
            and the names of panels; with `layout="paper"` a copy for publication, with ticks every 6 at any size. Only
            the pointer and the numbers then tell which heads are negative.
        title: Written above the panels. It says so if the probe cannot tell functions from their tasks (attribute
            `verdict`); held-out and leave-one-task-out accuracies stand below it.

    Returns:
        The figure. `hc.figures.data(fig)` has one row per panel and head: `panel, layer, head, name, score` (signed
        mean over seeds), `shown` (what is coloured), `low, high` (smallest and largest of the seeds; NaN for a single
        one), `rank` (1 = largest `shown` of its panel; NaN without a number), `negative` and `named`; where heads share
        keys and values also `kv_head`.

    Raises:
        DataError: no importance over these dimensions; a probe that is not above chance, or in too few of its seeds.
        OptionError: `clip` not above 0.
        UnknownNameError: another word for `layout` or `marks`.

    References:
        Layout after Ma et al. (2025), Cognitive Mirrors, arXiv 2512.10978.

    Example:
        >>> import headcats as hc
        >>> import numpy as np
        >>> import xarray as xr
        >>> dims = ("seed", "function", "layer", "head")  # as hc.methods.function_probe returns them
        >>> values = np.random.default_rng(0).standard_t(3, (2, 2, 6, 8))
        >>> coords = {"seed": [0, 1], "function": ["Retrieval", "Inference"], "layer": range(6), "head": range(8)}
        >>> fig = hc.figures.importance_grid(xr.Dataset({"importance": (dims, values)}, coords), clip=2.0)
        >>> hc.figures.data(fig).columns.tolist()[:6]
        ['panel', 'layer', 'head', 'name', 'score', 'shown']
    """
    if clip is not None and not (clip > 0 and math.isfinite(clip)):
        raise OptionError(f"importance_grid expects clip above 0, the upper end of its colours; got {clip}.")
    check_layout(layout)
    dims = ("seed", "function", "layer", "head")
    table = 'hc.suite_blocks(results)["function_probe"]'
    require(importance, {"importance": dims}, figure="importance_grid", table=table)
    refuse_chance(importance)
    functions = panel_names(importance, "function", figure="importance_grid")
    frames = [_rows(importance.sel(function=function), function) for function in functions]
    frame = pd.concat(frames, ignore_index=True)
    scale = rising_scale(frame["shown"].to_numpy(), colours="Viridis", name="Heads Importance", clip=clip)
    within = _SIZE, _SIZE
    cells = (
        layer_head_cells(importance, within=within)
        if layout == LAYERS_ACROSS
        else head_layer_cells(importance, within=within, published_step=6, reverse=True, marks=marks)
    )
    n_seeds, unit = importance.sizes["seed"], unit_of(importance)
    panels = [
        Panel(function, [_plot(cells, rows, scale, n_seeds, unit)], notes=[_largest(rows)])
        for function, rows in zip(functions, frames, strict=True)
    ]
    caption = [*accuracies(importance), "○ largest of a panel, named above it"]
    if _strongly_negative(frame, scale.limit).any():
        caption.append("▼ negative, by at least half of the scale")
    if importance.attrs.get("verdict") == SEPARATES_TASKS and SEPARATES_TASKS not in (title or ""):
        title = f"{title}: {SEPARATES_TASKS}" if title else SEPARATES_TASKS.capitalize()
    columns = 4 if len(functions) <= 8 else len(functions)
    return PanelGrid(panels, frame, title, caption, columns, beside=scale, grey=True, marks=marks)


def _rows(probes: xr.Dataset, function: str) -> pd.DataFrame:
    values = probes["importance"].astype(float)
    columns = {"score": values.mean("seed"), "shown": abs(values).mean("seed")}
    several = values if values.sizes["seed"] > 1 else xr.full_like(values, np.nan)
    rows = head_rows(probes, columns | {"low": several.min("seed"), "high": several.max("seed")})
    rows.insert(0, "panel", function)
    rows["rank"] = rows["shown"].rank(ascending=False, method="first")
    rows["negative"] = rows["score"] < 0
    most = max(1, min(_LARGEST, int(rows["shown"].notna().sum()) // 4))
    rows["named"] = (rows["rank"] <= most) & (rows["shown"] > 0)
    return rows


def _plot(cells: Cells, rows: pd.DataFrame, scale: ColourScale, n_seeds: int, unit: str) -> Plot:
    name = str(rows["panel"].iloc[0])
    template = f"<b>L%{{layer}}{letter(unit)}%{{head}}</b> {escaped(name)}<br>importance %{{score:.3g}}"
    template += f" [%{{low:.3g}}, %{{high:.3g}}] over {n_seeds} seeds" if n_seeds > 1 else ""
    traces = [cells.heatmap(rows, "shown", name=name, template=template)]
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


def _largest(rows: pd.DataFrame) -> str:
    if rows["shown"].isna().all():
        return "no value"
    return ", ".join(rows[rows["named"]].sort_values("rank")["name"]) or "none above 0"
