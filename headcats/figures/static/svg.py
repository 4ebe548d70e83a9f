"""Figures of panels as SVG, without a browser."""

import html
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import plotly.graph_objects as go

from headcats.base.errors import HeadcatsError
from headcats.figures.colours import BACKGROUND, GRID, NO_VALUE, OUTLINE, QUIET_TEXT, TEXT, TICK
from headcats.figures.panels.axes import Scale
from headcats.figures.panels.colour_scale import BAR_WIDTH, ColourScale
from headcats.figures.panels.interactive import drawing_of
from headcats.figures.panels.layout import TITLE_TOP, Drawing, Placed, Plot, Text
from headcats.figures.panels.legend import Legend
from headcats.figures.panels.text import EDGE, MEDIUM, SMALL, TITLE
from headcats.figures.static.elements import (
    area_svg,
    corners_svg,
    label_width,
    mark_look,
    mark_svg,
    plain_text,
    scale_colours,
    text_svg,
)
from headcats.figures.static.traces import Box, bar_svg, heatmap_svg, image_svg, scatter_svg

_ROW, _FIRST, _SWATCH, _TEXT = 19, 15.6, 12, 40  # pixels: as plotly sets entries of 12 pixels
_STEPS = 64  # of a colour bar
_KINDS: dict[str, Callable[[Any, Box], Iterator[str]]] = {
    "heatmap": heatmap_svg, "image": image_svg, "scatter": scatter_svg, "bar": bar_svg
}  # fmt: skip


def svg(fig: go.Figure) -> str | None:
    """Picture of a figure that was drawn from panels (`PanelGrid`), as it was drawn; None for any other.

    Buttons above a figure are left out: the first view is shown. Changes made to the figure since are not seen.
    """
    drawing = drawing_of(fig)
    return None if drawing is None else svg_of(drawing)


def svg_of(drawing: Drawing) -> str | None:
    """Picture of a drawing; None for one with traces or colours that only plotly knows, of somebody else's."""
    width, height = drawing.width, drawing.height
    try:
        content = "".join(piece for placed in drawing.parts for piece in _part(placed, drawing))
    except (AttributeError, HeadcatsError, KeyError, TypeError, ValueError):
        return None
    if drawing.title:
        # plotly sets a title a quarter of its size higher than other texts.
        content += text_svg(drawing.title, (EDGE, TITLE_TOP - TITLE / 4), size=TITLE, colour=TEXT)
    name = html.escape(plain_text(drawing.title or "figure"))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'font-family="Arial, Helvetica, sans-serif" role="img" aria-label="{name}">'
        f'<rect width="{width}" height="{height}" fill="{BACKGROUND}"/>{content}</svg>'
    )


def _part(placed: Placed, drawing: Drawing) -> Iterator[str]:
    part = placed.part
    if isinstance(part, Plot):
        yield from _plot(placed, drawing)
    elif isinstance(part, Legend):
        yield from _legend(part, *placed.at)
    elif isinstance(part, ColourScale):
        yield from _colour_bar(part, *placed.at, placed.length)
    elif isinstance(part, Text):
        colour = QUIET_TEXT if part.quiet else TEXT
        yield text_svg(part.html, placed.at, size=part.size, colour=colour, anchor=part.anchor)


def _plot(placed: Placed, drawing: Drawing) -> Iterator[str]:
    plot, (left, top), (width, height) = placed.part, placed.at, placed.part.size
    scale = next((other.part for other in drawing.of_kind(ColourScale)), None)
    box = Box(plot, left, top, left + width, top + height, NO_VALUE if drawing.grey else BACKGROUND, scale)
    corners = corners_svg(left, top, width, height)
    yield f'<rect {corners} fill="{box.ground}"/>'
    yield from _axes(box, placed.named)
    # What leaves a plot is cut off by a picture in the picture: a clip path needs a name, and several pictures of one
    # page would share it.
    inside = f'<svg {corners} viewBox="{left:.2f} {top:.2f} {width:.2f} {height:.2f}">'
    for trace in plot.traces:
        if trace.visible in (None, True) and (marks := "".join(_KINDS[trace.type](trace, box))):
            marks = marks if trace.opacity in (None, 1) else f'<g opacity="{trace.opacity:g}">{marks}</g>'
            free = isinstance(trace, go.Scatter) and trace.cliponaxis is False
            yield marks if free else f"{inside}{marks}</svg>"


def _axes(box: Box, named: tuple[bool, bool]) -> Iterator[str]:
    """Grid lines, ticks and texts of both axes of a plot, and their names where they are `named`."""
    x, y = box.plot.x, box.plot.y
    edge, out = (box.top, -1) if x.slanted else (box.bottom, 1)
    for value, label in x.marks:
        place = float(box.x(value))
        if box.left - 1e-6 <= place <= box.right + 1e-6:
            yield f'<path d="M{place:.2f} {edge:.2f}v{3 * out}" stroke="{TICK}"/>'
            if x.slanted:
                at = (place + 2, edge - 8 - 0.4 * x.tick_size)
                yield text_svg(label, at, size=x.tick_size, colour=TEXT, valign="middle", angle=-45)
            else:
                yield text_svg(label, (place, edge + 5), size=x.tick_size, colour=TEXT, anchor="center")
    longest = 0.0
    for value, label in y.marks:
        place = float(box.y(value))
        if box.top - 1e-6 <= place <= box.bottom + 1e-6:
            if isinstance(y, Scale):
                line = GRID if value else TICK
                yield f'<path d="M{box.left:.2f} {place:.2f}H{box.right:.2f}" stroke="{line}"/>'
            yield f'<path d="M{box.left:.2f} {place:.2f}h-3" stroke="{TICK}"/>'
            yield text_svg(label, (box.left - 6, place), size=y.tick_size, colour=TEXT, anchor="right", valign="middle")
            longest = max(longest, label_width(label, y.tick_size))
    if named[0] and x.name and not x.slanted:
        at = ((box.left + box.right) / 2, box.bottom + 20)
        yield text_svg(x.name, at, size=MEDIUM, colour=TEXT, anchor="center")
    if named[1] and y.name:
        at = (box.left - 18 - longest, (box.top + box.bottom) / 2)
        yield text_svg(y.name, at, size=MEDIUM, colour=TEXT, anchor="center", valign="middle", angle=-90)


def _legend(legend: Legend, left: int, top: int) -> Iterator[str]:
    """Line for every entry, from top to bottom."""
    for row, (entry, text) in enumerate(legend.lines):
        y = top + _FIRST + _ROW * row
        if entry.symbol:
            drawn = mark_look(entry.symbol, colour=entry.colour, edge=entry.colour, width=0)
            yield f'<path d="{mark_svg(entry.symbol, (left + 20, y), 9)}" {drawn}/>'
        else:
            corners = (left + 20 - _SWATCH / 2, y - _SWATCH / 2, _SWATCH, _SWATCH)
            yield area_svg(corners, entry.colour, entry.hatch, OUTLINE, 0.5 if entry.outlined else 0)
        yield text_svg(text, (left + _TEXT, y), size=MEDIUM, colour=TEXT, valign="middle")


def _colour_bar(scale: ColourScale, left: int, top: int, length: int) -> Iterator[str]:
    """Bar of the colours, the largest number on top, with its ticks and its name."""
    low, high = scale.ticks[0], scale.ticks[-1]
    step = length / _STEPS
    for place, rgba in enumerate(scale_colours(np.linspace(high, low, _STEPS), scale.colours, (low, high))):
        # A little over the next one: no gap shows between them at any zoom.
        corners = corners_svg(left, top + place * step, BAR_WIDTH, step + 0.3)
        yield f'<rect {corners} fill="#{bytes(rgba[:3]).hex()}"/>'
    for value, label in zip(scale.ticks, scale.labels, strict=True):
        y = top + length * (high - value) / (high - low)
        yield text_svg(label, (left + BAR_WIDTH + 4, y), size=SMALL, colour=TEXT, valign="middle")
    at = (left + BAR_WIDTH + 12 + max(label_width(label, SMALL) for label in scale.labels), top + length / 2)
    yield text_svg(scale.name, at, size=MEDIUM, colour=TEXT, anchor="center", valign="middle", angle=90)
