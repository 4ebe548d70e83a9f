"""Lines, areas, markers, texts and intervals of scatter traces as SVG."""

from collections.abc import Iterator

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from headcats.figures.colours import TEXT
from headcats.figures.panels.colour_scale import ColourScale
from headcats.figures.static.axes import Box
from headcats.figures.static.colours import figure_colours
from headcats.figures.static.symbols import each, look, outline
from headcats.figures.static.text import svg_text

# In widths of the line, of 3 pixels at least, as plotly draws them.
_DASHES = {"dot": (1, 1), "dash": (3, 3), "longdash": (5, 5), "dashdot": (3, 1, 1, 1)}
_MARKER, _TEXT, _LINE = 6, 12, 2  # sizes where a figure says nothing
_VALIGNS = {"top": "bottom", "middle": "middle", "bottom": "top"}  # a text above its point ends there
_ANCHORS = {"left": "right", "center": "center", "right": "left"}
Pixels = Float[np.ndarray, " point"]


def scatter_svg(trace: go.Scatter, box: Box) -> Iterator[str]:
    """Marks that the `mode` of a trace names, intervals first; points without a number are left out."""
    mode = trace.mode or "lines+markers"
    xs, ys = box.x(trace.x), box.y(trace.y)
    if trace.error_y.array is not None:
        yield _intervals(trace, xs, box)
    if "lines" in mode or trace.fill:
        yield _lines(trace, xs, ys, drawn="lines" in mode)
    if "markers" in mode:
        yield from _markers(trace, xs, ys, box.scale)
    if "text" in mode:
        yield from _texts(trace, xs, ys)


def _lines(trace: go.Scatter, xs: Pixels, ys: Pixels, *, drawn: bool) -> str:
    pieces, command = list[str](), "M"
    for px, py in zip(xs.tolist(), ys.tolist(), strict=True):
        inside = np.isfinite(px + py)
        if inside:
            pieces.append(f"{command}{px:.2f} {py:.2f}")
        command = "L" if inside else "M"
    line, width = trace.line, _LINE if trace.line.width is None else trace.line.width
    look = f'fill="{trace.fillcolor if trace.fill else "none"}"'
    if drawn and width:
        look += f' stroke="{line.color}" stroke-width="{width:g}"{_dash(line.dash, width)}'
    return f'<path d="{"".join(pieces)}" {look}/>'


def _dash(dash: str | None, width: float) -> str:
    if dash in (None, "solid"):
        return ""
    if dash in _DASHES:
        lengths = [f"{max(3, width) * part:g}" for part in _DASHES[dash]]
    else:
        lengths = [f"{float(part.removesuffix('px')):g}" for part in str(dash).split(",")]
    return f' stroke-dasharray="{" ".join(lengths)}"'


def _markers(trace: go.Scatter, xs: Pixels, ys: Pixels, scale: ColourScale | None) -> Iterator[str]:
    marker, line, n = trace.marker, trace.marker.line, len(xs)
    colours = each(marker.color, n, trace.line.color or line.color or TEXT)
    if marker.coloraxis:
        rgba = figure_colours(np.asarray(marker.color, dtype=float), scale)
        colours = np.array(["#" + bytes(colour[:3]).hex() for colour in rgba])
    sizes, symbols = each(marker.size, n, _MARKER), each(marker.symbol, n, "circle")
    edges, widths = each(line.color, n), each(line.width, n, 0)
    # Marks that look alike are one path: thousands of them stay small.
    paths: dict[str, list[str]] = {}
    for i in np.flatnonzero(np.isfinite(xs + ys)):
        drawn = look(symbols[i], colour=colours[i], edge=edges[i] or colours[i], width=widths[i])
        paths.setdefault(drawn, []).append(outline(symbols[i], (xs[i], ys[i]), sizes[i]))
    faint = "" if marker.opacity in (None, 1) else f' opacity="{marker.opacity:g}"'
    for drawn, path in paths.items():
        yield f'<path d="{"".join(path)}" {drawn}{faint}/>'


def _texts(trace: go.Scatter, xs: Pixels, ys: Pixels) -> Iterator[str]:
    n, font = len(xs), trace.textfont
    texts, sizes, colours = each(trace.text, n), each(font.size, n, _TEXT), each(font.color, n, TEXT)
    upright, across = (trace.textposition or "middle center").split()
    for i in np.flatnonzero(np.isfinite(xs + ys)):
        if texts[i]:
            look = {"size": sizes[i], "colour": colours[i], "anchor": _ANCHORS[across], "shadow": font.shadow}
            yield svg_text(texts[i], (xs[i], ys[i]), valign=_VALIGNS[upright], **look)


def _intervals(trace: go.Scatter, xs: Pixels, box: Box) -> str:
    error, values = trace.error_y, np.asarray(trace.y, dtype=float)
    up = np.asarray(error.array, dtype=float)
    down = up if error.arrayminus is None else np.asarray(error.arrayminus, dtype=float)
    half = error.width or 0
    path = "".join(
        f"M{px:.2f} {low:.2f}V{high:.2f}M{px - half:.2f} {low:.2f}h{2 * half:g}M{px - half:.2f} {high:.2f}h{2 * half:g}"
        for px, low, high in zip(xs, box.y(values - down), box.y(values + up), strict=True)
        if np.isfinite(px + low + high)
    )
    return f'<path d="{path}" stroke="{error.color}" stroke-width="{error.thickness or _LINE:g}"/>'
