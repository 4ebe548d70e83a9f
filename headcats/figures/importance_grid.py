"""One panel per function (or category, task, method): how much every head matters for it."""

import html
import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import xarray as xr

from headcats.errors import OptionError
from headcats.figures.axes import Axis, Canvas, add_axes, add_text, ticks_every
from headcats.figures.cells import chosen, head_name, n_cells, of_frame
from headcats.figures.colour_bar import rising_colour_axis, rising_limit
from headcats.figures.colours import ON_DARK
from headcats.figures.figure import figure
from headcats.figures.marks import TINY, add_crosses, add_symbols, contrast, heatmap
from headcats.figures.panel_order import panel_names
from headcats.figures.placing import WIDEST, below_caption, captioned_figure, even_columns, folded, in_rows, title_width
from headcats.figures.probe_words import accuracies, function_tasks, refuse_chance, titled
from headcats.figures.screen import screen_hover, screen_title, with_approximation

# Variable -> what the colour bar calls it. The first that a dataset has is drawn.
SCORES = {
    "importance": "Heads Importance",
    "effect": "Heads Importance (effect)",
    "score": "Heads Importance (score)",
    "facilitation": "Heads Importance (facilitation)",
    "interference": "Heads Importance (interference)",
    "irrelevance": "Heads Importance (irrelevance)",
    "strength": "Heads Importance (strength)",
}
PANELS = ("function", "category", "task", "method", "dataset", "group")
TICKS = 6

_SIZE = 240  # pixels of the longer side of a panel, about
_LEFT, _RIGHT, _BOTTOM, _TITLE, _NAMED = 62, 26, 12, 36, 3
_BETWEEN, _TICKS, _NAME, _BAR = 46, 22, 18, 104


@dataclass(frozen=True)
class _Shown:
    """What the panels are drawn from."""

    name: str
    """Of the variable."""
    values: xr.Dataset
    """`score, shown, low, high (panel, layer, head)` and `tasks`; layer and head cover the full grid of the model."""
    interval: str
    """What `low` and `high` are, "" where there are none."""


@figure
def importance_grid(
    importance: xr.Dataset, *, variable: str | None = None, clip: float | None = None, title: str | None = None
) -> tuple[go.Figure, pd.DataFrame]:
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
    name, row = chosen(
        importance,
        names,
        grid=("layer", "head"),
        rows=PANELS,
        figure="importance_grid",
        source=source,
        table='hc.suite_blocks(results)["function_probe"], or hc.score(results)',
    )
    refuse_chance(importance, figure="importance_grid")
    shown = _shown(importance, name, row)
    frame = _frame(shown)
    title = screen_title(titled(title, importance), importance)
    return _draw(shown, frame, importance, clip=clip, title=title), with_approximation(frame, importance)


def _shown(importance: xr.Dataset, name: str, row: str | None) -> _Shown:
    values = importance[name].astype(float)
    if row is None:
        row, values = "panel", values.expand_dims(panel=[name])
    absolute = name == "importance"
    size = abs(values) if absolute else values
    score, shown, low, high, interval = values, size, None, None, ""
    if "seed" in values.dims:
        score, shown = values.mean("seed"), size.mean("seed")
        if values.sizes["seed"] > 1:
            low, high, interval = values.min("seed"), values.max("seed"), f"over {values.sizes['seed']} seeds"
    elif name == "effect" and {"low", "high"} <= set(importance.data_vars):
        low, high, interval = importance["low"], importance["high"], "95 %"
    table = xr.Dataset({"score": score, "shown": shown}).reset_coords(drop=True)
    nothing = xr.full_like(table["score"], np.nan)
    table["low"] = nothing if low is None else low.reset_coords(drop=True).broadcast_like(nothing)
    table["high"] = nothing if high is None else high.reset_coords(drop=True).broadcast_like(nothing)
    tasks = xr.DataArray("")
    if "tasks" in importance.data_vars and set(importance["tasks"].dims) <= set(nothing.dims):
        tasks = importance["tasks"].astype(str).reset_coords(drop=True)
    elif row == "function":
        tasks = xr.DataArray([function_tasks(importance, str(name)) for name in values[row].values], dims=row)
    table["tasks"] = tasks.broadcast_like(nothing)
    if _has_threshold(importance, name, row):
        table["threshold"] = importance["threshold"].reset_coords(drop=True)
    order = panel_names(values, row, categories=importance.attrs.get("categories"), figure="importance_grid")
    table = table.rename({row: "panel"} if row != "panel" else {})
    table = table.assign_coords(panel=[str(label) for label in table["panel"].values])
    return _Shown(name, table.sel(panel=order), interval)


def _has_threshold(importance: xr.Dataset, name: str, row: str) -> bool:
    """Whether the table says from which score on a head of a panel counts, as that of `ov_relation` does."""
    return name == "score" and "threshold" in importance and importance["threshold"].dims == (row,)


def _frame(shown: _Shown) -> pd.DataFrame:
    panels = []
    for panel in shown.values["panel"].values:
        here = shown.values.sel(panel=panel).transpose("layer", "head")
        layers, heads = (grid.ravel() for grid in np.meshgrid(here["layer"], here["head"], indexing="ij"))
        one = pd.DataFrame({"panel": str(panel), "layer": layers, "head": heads})
        one["name"] = [head_name(int(layer), int(head)) for layer, head in zip(layers, heads, strict=True)]
        one["variable"] = shown.name
        for number in ("score", "shown", "low", "high"):
            one[number] = here[number].to_numpy().ravel()
        one["rank"] = one["shown"].rank(ascending=False, method="first")
        one["negative"] = one["score"] < 0
        most = max(1, min(_NAMED, int(one["shown"].notna().sum()) // 4))
        one["named"] = (one["rank"] <= most) & (one["shown"] > 0)
        if "threshold" in here:
            one["named"] &= one["shown"] >= float(here["threshold"])
        one["tasks"] = here["tasks"].to_numpy().ravel()
        panels.append(one)
    return pd.concat(panels, ignore_index=True)


def _draw(
    shown: _Shown, frame: pd.DataFrame, importance: xr.Dataset, *, clip: float | None, title: str | None
) -> go.Figure:
    values = shown.values
    n_layers, n_heads = n_cells(values, "layer"), n_cells(values, "head")
    side = max(3, min(60, _SIZE // max(n_layers, n_heads)))
    cell = (max(side, math.ceil(96 / n_heads)), max(side, math.ceil(72 / n_layers)))
    size = (cell[0] * n_heads, cell[1] * n_layers)
    names = [str(name) for name in values["panel"].values]
    step = (max(size[0] + _BETWEEN, math.ceil(7.6 * max(map(len, names))) + 14, 150), _TITLE + size[1] + _TICKS + _NAME)
    fit = max(1, (WIDEST - _LEFT - _BAR - _RIGHT) // step[0])
    columns = even_columns(len(names), at_most=min(4, fit) if len(names) <= 8 else fit)
    rows = math.ceil(len(names) / columns)

    limits = rising_limit(frame["shown"].to_numpy(), clip=clip)
    right = _LEFT + (columns - 1) * step[0] + size[0]
    width = max(right + 22 + _BAR + _RIGHT, 620, title_width(title))
    lines = folded([*accuracies(importance)], width=width - 32) + folded(
        _caption(frame, limits[0], least="threshold" in values), width=width - 32
    )
    top = below_caption(title, lines)
    bar = max(rows * step[1] - _TITLE - _TICKS - _NAME, 150)
    height = max(top + rows * step[1], top + _TITLE + bar + 12) + _BOTTOM
    canvas = Canvas(width=width, height=height)

    fig = captioned_figure(canvas, title=title, lines=lines)
    spots = in_rows(len(names), columns=columns, size=size, step=step, at=(_LEFT, top + _TITLE))
    for name, spot in zip(names, spots, strict=True):
        panel = spot.panel
        across = Axis(n_heads, "Head" if spot.outer[0] else "", ticks_every(TICKS, n_heads, cell=cell[0]))
        down = Axis(
            n_layers, "Layer" if spot.outer[1] else "", ticks_every(TICKS, n_layers, cell=cell[1]), reverse=True
        )
        axes = add_axes(fig, panel, canvas=canvas, x=across, y=down)
        here = frame[frame["panel"] == name]
        middle = panel.left + size[0] // 2
        add_text(
            fig, html.escape(name, quote=False), canvas=canvas, at=(middle, panel.top - 34), size=14, anchor="center"
        )
        nobody = _nobody(values.sel(panel=name)) if here["shown"].notna().any() else "no value"
        named = ", ".join(here[here["named"]].sort_values("rank")["name"]) or nobody
        add_text(fig, named, canvas=canvas, at=(middle, panel.top - 16), size=11, anchor="center", quiet=True)
        _add_panel(fig, here, shown, cell=cell, limit=limits[0], axes=axes, note=screen_hover(importance))
    at = (canvas.x(right + 22), canvas.y(spots[0].panel.top))
    fig.update_layout(
        coloraxis=rising_colour_axis(limits, colours="Viridis", at=at, length=bar, name=SCORES[shown.name])
    )
    return fig


def _add_panel(
    fig: go.Figure,
    frame: pd.DataFrame,
    shown: _Shown,
    *,
    cell: tuple[int, int],
    limit: float,
    axes: dict[str, str],
    note: str,
) -> None:
    numbers = [of_frame(frame, frame[n], fill=np.float32(np.nan)) for n in ("shown", "score", "low", "high")]
    has_tasks = bool((frame["tasks"] != "").any())
    interval = f" [%{{customdata[1]:.3g}}, %{{customdata[2]:.3g}}] {shown.interval}" if shown.interval else ""
    said = frame["tasks"].map(
        lambda text: f"<br>tasks: {html.escape(text, quote=False).replace(',', ', ')}" if text else ""
    )
    extra = {"text": of_frame(frame, said, fill="")} if has_tasks else {}
    title = html.escape(str(frame["panel"].iloc[0]), quote=False)
    fig.add_trace(
        heatmap(
            numbers[0],
            cell=cell,
            customdata=np.stack(numbers[1:], axis=-1),
            hovertemplate=f"<b>L%{{y}}H%{{x}}</b> {title}<br>{shown.name} %{{customdata[0]:.3g}}{interval}"
            f"{note}{'%{text}' if has_tasks else ''}<extra></extra>",
            name=str(frame["panel"].iloc[0]),
            axes=axes,
            **extra,
        )
    )
    small = min(cell)
    sizes = {"negative": ("triangle-down", max(3.0, 0.4 * small)), "largest": ("circle-open", max(7.0, 0.75 * small))}
    masks = {"negative": frame["negative"] & (frame["score"] <= -limit / 2), "largest": frame["named"]}
    for name, (symbol, size) in sizes.items():
        where = of_frame(frame, masks[name], fill=False)
        # A ring around a cell smaller than itself lies on its neighbours, which are dark mostly.
        ink = ON_DARK if small < TINY and name == "largest" else contrast(numbers[0][where], dark_below=0.6 * limit)
        marker = {"symbol": symbol, "size": min(16.0, size), "color": ink, "line": {"width": 1.4}}
        if name == "negative":
            del marker["line"]
        add_symbols(fig, where, name=name, marker=marker, axes=axes)
    add_crosses(fig, of_frame(frame, frame["shown"].isna(), fill=False), cell=cell, axes=axes)


def _nobody(panel: xr.Dataset) -> str:
    return f"none reaches {float(panel['threshold']):.3g}" if "threshold" in panel else "none above 0"


def _caption(frame: pd.DataFrame, limit: float, *, least: bool) -> list[str]:
    reach = " among the heads that reach its threshold" if least else ""
    parts = [f"○ largest of a panel{reach}, named above it"]
    if (frame["negative"] & (frame["score"] <= -limit / 2)).any():
        parts.append("▼ negative, by at least half of the scale")
    if frame["shown"].isna().any():
        parts.append("× no value")
    return parts
