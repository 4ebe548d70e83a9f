"""Lines, areas, markers, texts and intervals of scatter traces as SVG."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from headcats.figures.static.arrays import each, numbers
from headcats.figures.static.axes import Span
from headcats.figures.static.colours import css_colour, hex_of, scale_colours
from headcats.figures.static.symbols import look, outline
from headcats.figures.static.text import svg_text

# In widths of the line, of 3 pixels at least, as plotly draws them.
_DASHES = {"dot": (1, 1), "dash": (3, 3), "longdash": (5, 5), "dashdot": (3, 1, 1, 1)}
_MARKER, _TEXT, _LINE = 6, 12, 2  # sizes where a figure says nothing
_VALIGNS = {"top": "bottom", "middle": "middle", "bottom": "top"}  # a text above its point ends there
_ANCHORS = {"left": "right", "center": "center", "right": "left"}


def scatter_svg(fig: go.Figure, trace: Any, x: Span, y: Span) -> Iterator[str]:
    """What the `mode` of a trace names, intervals first; points without a number are left out."""
    mode = trace.mode or "lines+markers"
    xs, ys = x.place(numbers(trace.x)), y.place(numbers(trace.y))
    if trace.error_y.array is not None:
        yield _intervals(trace, xs, y)
    if "lines" in mode or trace.fill:
        yield _lines(trace, xs, ys, drawn="lines" in mode)
    if "markers" in mode:
        yield from _markers(fig, trace, xs, ys)
    if "text" in mode:
        yield from _texts(fig, trace, xs, ys)


def _lines(trace: Any, xs: Float[np.ndarray, " point"], ys: Float[np.ndarray, " point"], *, drawn: bool) -> str:
    pieces, command = list[str](), "M"
    for px, py in zip(xs.tolist(), ys.tolist(), strict=True):
        inside = np.isfinite(px + py)
        if inside:
            pieces.append(f"{command}{px:.2f} {py:.2f}")
        command = "L" if inside else "M"
    width = _LINE if trace.line.width is None else trace.line.width
    fill = f'fill="{css_colour(trace.fillcolor)}"' if trace.fill else 'fill="none"'
    stroke = f' stroke="{trace.line.color}" stroke-width="{width:g}"{_dash(trace.line.dash, width)}'
    return f'<path d="{"".join(pieces)}" {fill}{stroke if drawn and width else ""}/>'


def _dash(dash: str | None, width: float) -> str:
    if dash in (None, "solid"):
        return ""
    if dash in _DASHES:
        lengths = [f"{max(3, width) * part:g}" for part in _DASHES[dash]]
    else:
        lengths = str(dash).replace("px", "").split(",")
    return f' stroke-dasharray="{" ".join(lengths)}"'


def _markers(
    fig: go.Figure, trace: Any, xs: Float[np.ndarray, " point"], ys: Float[np.ndarray, " point"]
) -> Iterator[str]:
    marker, n = trace.marker, len(xs)
    named = marker.color if marker.color is not None else trace.line.color or marker.line.color
    colours = each(fig.layout.font.color if named is None else named, n)
    if n and not isinstance(colours[0], str):  # numbers
        axis = fig.layout.coloraxis
        shown = scale_colours(numbers(marker.color), axis.colorscale, (axis.cmin, axis.cmax))
        colours = [hex_of(colour.tolist()) for colour in shown]
    sizes = each(_MARKER if marker.size is None else marker.size, n)
    symbols, edges = each(marker.symbol or "circle", n), each(marker.line.color, n)
    widths = each(marker.line.width or 0, n)
    # Marks that look alike are one path: thousands of them stay small.
    paths: dict[str, list[str]] = {}
    for i in np.flatnonzero(np.isfinite(xs + ys)):
        drawn = look(str(symbols[i]), colour=colours[i], edge=edges[i] or colours[i], width=widths[i])
        paths.setdefault(drawn, []).append(outline(str(symbols[i]), (xs[i], ys[i]), float(sizes[i])))
    for drawn, path in paths.items():
        yield f'<path d="{"".join(path)}" {drawn}/>'


def _texts(
    fig: go.Figure, trace: Any, xs: Float[np.ndarray, " point"], ys: Float[np.ndarray, " point"]
) -> Iterator[str]:
    n, given = len(xs), trace.textfont
    texts, sizes = each(trace.text, n), each(_TEXT if given.size is None else given.size, n)
    colours = each(fig.layout.font.color if given.color is None else given.color, n)
    upright, across = (trace.textposition or "middle center").split()
    for i in np.flatnonzero(np.isfinite(xs + ys)):
        if texts[i]:
            font = {"size": sizes[i], "colour": css_colour(colours[i]), "anchor": _ANCHORS[across]}
            yield svg_text(str(texts[i]), (xs[i], ys[i]), valign=_VALIGNS[upright], **font)


def _intervals(trace: Any, xs: Float[np.ndarray, " point"], y: Span) -> str:
    error, values = trace.error_y, numbers(trace.y)
    up = numbers(error.array)
    down = up if error.arrayminus is None else numbers(error.arrayminus)
    half = error.width or 0
    path = "".join(
        f"M{px:.2f} {low:.2f}V{high:.2f}M{px - half:.2f} {low:.2f}h{2 * half:g}M{px - half:.2f} {high:.2f}h{2 * half:g}"
        for px, low, high in zip(xs, y.place(values - down), y.place(values + up), strict=True)
        if np.isfinite(px + low + high)
    )
    return f'<path d="{path}" stroke="{error.color}" stroke-width="{error.thickness or _LINE:g}"/>'
