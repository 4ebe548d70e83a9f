"""How an overlap map is drawn: panels of cells, hatching, triangles and the legend, placed in pixels."""

import html
import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import xarray as xr

from headcats.figures.axes import Canvas, Panel, add_panel, add_text, new_figure
from headcats.figures.cell_letters import AUTO, add_letters, fits
from headcats.figures.cells import n_cells, on_grid
from headcats.figures.colours import HATCH, MARK, Palette
from headcats.figures.hatch import hatch_lines
from headcats.figures.marks import TINY, gap
from headcats.figures.overlap_hover import hover_numbers, hover_template, hover_text
from headcats.figures.overlap_legend import SUPPRESSING, UNDECIDED, add_legend, legend_labels, legend_letters
from headcats.figures.placing import EDGE, LINE, WIDEST, add_caption, folded, folded_name, title_width

ALL = "All Categories"
NO_VALUE = "no value"

_PANEL, _NARROWEST, _TALLEST = 200, 110, 420  # pixels
_LEFT, _RIGHT, _BOTTOM, _ROOM_FOR_HEADS = 8, 34, 46, 46
_LEGEND_ENTRY, _LEGEND_GAP = 20, 10
_TITLE_LINE = 18


def draw_overlap(
    overlap: xr.Dataset,
    frame: pd.DataFrame,
    colours: Palette,
    *,
    title: str | None,
    letters: str = AUTO,
    notes: Sequence[str] = (),
    hover: Callable[[Mapping[str, bool]], str] = hover_template,
) -> go.Figure:
    """Draw the numbers of an overlap map: the panel of all categories with the legend, then one panel per category.

    Args:
        overlap: As `overlap_map` takes it, categories in their order.
        frame: The numbers behind it.
        colours: Of the categories.
        title: Written above everything.
        letters: `"auto"`: letters on the cells of the first panel, where they fit; `"none"`.
        notes: Below the title; with notes the figure is at least as wide as its title.
        hover: Categories of a panel, each with whether it has numbers -> plotly's template over `text`, `customdata`
            and `hovertext`.
    """
    labels = legend_labels(colours)
    n_layers, n_heads = n_cells(overlap, "layer"), n_cells(overlap, "head")
    suppressed = bool(frame.suppresses.any())
    sentence = _sentence(overlap, frame)

    # Arial needs at most .6 of its size a letter; 44 pixels hold the swatch and the spaces around it.
    legend_width = 44 + math.ceil(7.2 * max(map(len, [*labels, UNDECIDED])))
    names = [ALL, *colours.categories]
    # Panels stay in one row: with many of them they are smaller.
    room = (WIDEST - _LEFT - _LEGEND_GAP - legend_width - _RIGHT) // len(names) - _ROOM_FOR_HEADS
    legend_height = _LEGEND_ENTRY * (len(labels) + 1 + suppressed) + 8
    cell = _cell(n_layers, n_heads, widest=min(_PANEL, max(_NARROWEST, room)), at_least=legend_height)
    width, height = cell[0] * n_layers, cell[1] * n_heads
    step = _ROOM_FOR_HEADS + max(width, _NARROWEST)
    lefts = [_LEFT + _ROOM_FOR_HEADS + i * step + (_LEGEND_GAP + legend_width if i else 0) for i in range(len(names))]
    right = lefts[-1] + max(width, _NARROWEST) + _RIGHT
    right = max(right, title_width(title)) if notes else right
    said = folded(notes, width=right - 2 * EDGE)
    titles = {name: folded_name(name, width=step - 6) for name in names}
    more_lines = _TITLE_LINE * (max(map(len, titles.values())) - 1)
    top = 14 + (30 if title else 0) + (26 if sentence else 0) + (LINE * len(said) + 8 if said else 0) + more_lines
    canvas = Canvas(width=right, height=top + 38 + height + _BOTTOM)
    written = legend_letters(colours)
    written = written if letters == AUTO and fits(written, cell) else {}

    fig = new_figure(canvas, title=title)
    add_caption(fig, said, canvas=canvas, title=title)
    if sentence:
        add_text(fig, sentence, canvas=canvas, at=(16, top - more_lines - 22), size=13)
    for name, left in zip(names, lefts, strict=True):
        here = frame[frame.panel == name]
        panel = Panel(left=left, top=top + 38, width=width, height=height)
        axes = add_panel(fig, panel, canvas=canvas, n_layers=n_layers, n_heads=n_heads, names=(True, True))
        for i, line in enumerate(reversed(titles[name])):
            add_text(fig, html.escape(line, quote=False), canvas=canvas, at=(left, top - _TITLE_LINE * i), size=14)
        add_text(fig, _count(here, overlap), canvas=canvas, at=(left, top + 19), size=11, quiet=True)
        grid = here.set_index(["layer", "head"]).to_xarray()
        fig.add_trace(_cells(name, grid, overlap, labels, gap=gap(cell), hover=hover, axes=axes))
        xs, ys = hatch_lines(on_grid(grid.hatched, fill=False).astype(bool), cell=cell)
        lines = {"color": HATCH, "width": 1 if min(cell) >= TINY else 0.6}
        fig.add_trace(
            go.Scatter(x=xs, y=ys, mode="lines", line=lines, hoverinfo="skip", showlegend=False, name=UNDECIDED, **axes)
        )
        if name == ALL:
            add_letters(fig, here, written, cell=cell, axes=axes)
        if here.suppresses.any():
            fig.add_trace(_triangles(here[here.suppresses], size=min(9.0, max(3.0, 0.45 * min(cell))), axes=axes))
    add_legend(
        fig,
        labels,
        letters=written,
        suppressed=suppressed,
        at=(canvas.x(lefts[0] + max(width, _NARROWEST) + _LEGEND_GAP), canvas.y(top + 34)),
    )
    return fig


def _cell(n_layers: int, n_heads: int, *, widest: int, at_least: int) -> tuple[int, int]:
    """Width and height of a cell in whole pixels (cells would differ in size otherwise); square where that fits."""
    width = max(3, min(100, widest // n_layers))
    height = min(width, max(3, _TALLEST // n_heads))
    return width, max(height, math.ceil(at_least / n_heads))


def _triangles(heads: pd.DataFrame, *, size: float, axes: dict[str, str]) -> go.Scatter:
    marker = {"symbol": "triangle-down", "size": size, "color": MARK}
    return go.Scatter(
        x=heads.layer.to_numpy(),
        y=heads["head"].to_numpy(),
        mode="markers",
        marker=marker,
        name=SUPPRESSING,
        hoverinfo="skip",
        showlegend=False,
        **axes,
    )


def _count(panel: pd.DataFrame, overlap: xr.Dataset) -> str:
    n = int((panel.outcome == "in").sum())
    kind = _kind(overlap)
    known = int((panel.outcome != NO_VALUE).sum())
    if not known:
        return "not judged"
    return f"{n or 'no'} {kind}{'head' if n < 2 else 'heads'} of {known}"


def _kind(overlap: xr.Dataset) -> str:
    return "suppressing " if overlap.attrs.get("sign") == "suppressing" else ""


def _sentence(overlap: xr.Dataset, frame: pd.DataFrame) -> str | None:
    if (overlap.member == 1).any():
        return None
    rule = html.escape(str(overlap.attrs.get("rule", "")), quote=False)
    everything = frame[frame.panel == ALL]
    undecided = int(everything.hatched.sum())
    rest = f"{undecided} undecided (hatched)" if undecided else "none undecided"
    named = f"the rule {rule}" if rule else "the rule"
    heads = int((everything.outcome != NO_VALUE).sum())
    return f"No {_kind(overlap)}head passed {named} in any category; {rest} of {heads} heads."


def _cells(
    name: str,
    grid: xr.Dataset,
    overlap: xr.Dataset,
    labels: dict[str, str],
    *,
    gap: int,
    hover: Callable[[Mapping[str, bool]], str],
    axes: dict[str, str],
) -> go.Heatmap:
    order = list(labels)
    codes = grid.label.copy(data=pd.Index(order).get_indexer(grid.label.values.ravel()).reshape(grid.label.shape))
    steps: list[tuple[float, str]] = []
    for i, colour in enumerate(labels.values()):
        steps += [(i / len(order), colour), ((i + 1) / len(order), colour)]
    shown = [str(c) for c in overlap.category.values if name in (ALL, c)]
    here = overlap.sel(category=shown)
    judged = here["effect"].notnull().any(("layer", "head"))
    z = on_grid(codes.where(codes >= 0).astype("float32"), fill=np.float32(np.nan))
    who, tasks = hover_text(here, overlap)
    return go.Heatmap(
        z=z,
        x0=0,
        dx=1,
        y0=0,
        dy=1,
        zmin=-0.5,
        zmax=len(order) - 0.5,
        colorscale=steps,
        showscale=False,
        xgap=gap,
        ygap=gap,
        hoverongaps=False,
        text=who,
        hovertext=tasks,
        customdata=hover_numbers(here),
        hovertemplate=hover(dict(zip(shown, judged.values.tolist(), strict=True))),
        name=name,
        **axes,
    )
