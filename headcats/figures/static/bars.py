"""Bars as SVG, hatched ones as well."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import plotly.graph_objects as go

from headcats.figures.static.arrays import each, numbers
from headcats.figures.static.axes import Span
from headcats.figures.static.colours import css_colour

_GAP = 0.2  # between bars where a figure says nothing
_HATCH = 5.0  # pixels between the lines of hatching


def bar_svg(fig: go.Figure, trace: Any, x: Span, y: Span) -> Iterator[str]:
    """Bars that begin at their `base`, upwards or across."""
    flat = trace.orientation == "h"
    along, across = (x, y) if flat else (y, x)
    lengths, places = (numbers(values) for values in ((trace.x, trace.y) if flat else (trace.y, trace.x)))
    n, gap, marker = len(lengths), fig.layout.bargap, trace.marker
    base = np.array(each(0 if trace.base is None else trace.base, n), dtype=float)
    width = np.array(each(1 - (_GAP if gap is None else gap) if trace.width is None else trace.width, n), dtype=float)
    offset = -width / 2 if trace.offset is None else np.array(each(trace.offset, n), dtype=float)
    pattern = marker.pattern
    colours, grounds = each(marker.color, n), each(pattern.bgcolor, n)
    shapes, inks = each(pattern.shape, n), each(pattern.fgcolor, n)
    edge = f' stroke="{marker.line.color}" stroke-width="{marker.line.width:g}"' if marker.line.width else ""
    for i in np.flatnonzero(np.isfinite(lengths + base + places)):
        a, b = sorted(along.place([base[i], base[i] + lengths[i]]).tolist())
        c, d = sorted(across.place([places[i] + offset[i], places[i] + offset[i] + width[i]]).tolist())
        left, top, wide, high = box = (a, c, b - a, d - c) if flat else (c, a, d - c, b - a)
        fill = css_colour(grounds[i] if shapes[i] and grounds[i] else colours[i])
        place = f'x="{left:.2f}" y="{top:.2f}" width="{wide:.2f}" height="{high:.2f}"'
        yield f'<rect {place} fill="{fill}"{edge}/>'
        if shapes[i]:
            yield hatch_svg(box, css_colour(inks[i]))


def hatch_svg(box: tuple[float, float, float, float], ink: str) -> str:
    """Diagonal lines over a rectangle: left, top, width and height."""
    left, top, wide, high = box
    path = ""
    for start in np.arange(_HATCH, wide + high, _HATCH):
        x0, y0 = max(0.0, start - high), min(high, start)
        x1, y1 = min(wide, start), max(0.0, start - wide)
        path += f"M{left + x0:.2f} {top + y0:.2f}L{left + x1:.2f} {top + y1:.2f}"
    return f'<path d="{path}" stroke="{ink}"/>' if path else ""
