"""Traces of plotly as SVG; all cells are one embedded PNG, so that 80 x 64 heads take a few kilobytes."""

import base64
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float, Shaped, UInt8

from headcats.figures.colours import BACKGROUND, TEXT
from headcats.figures.panels.axes import Axis, Scale
from headcats.figures.panels.colour_scale import ColourScale
from headcats.figures.panels.layout import Plot
from headcats.figures.static.elements import area_svg, corners_svg, mark_look, mark_svg, scale_colours, text_svg

_BAR, _MARKER, _TEXT, _LINE = 0.8, 6, 12, 2  # widths and sizes where a figure says nothing, as plotly has them
# In widths of the line, of 3 pixels at least, as plotly draws them.
_DASHES = {"dot": (1, 1), "dash": (3, 3), "longdash": (5, 5), "dashdot": (3, 1, 1, 1)}
_VALIGNS = {"top": "bottom", "middle": "middle", "bottom": "top"}  # a text above its point ends there
_ANCHORS = {"left": "right", "center": "center", "right": "left"}
Pixels = Float[np.ndarray, " point"]


@dataclass(frozen=True)
class Box:
    """Plot between its edges in pixels."""

    plot: Plot
    left: float
    top: float
    right: float
    bottom: float
    ground: str = BACKGROUND
    """Colour where nothing is drawn."""
    scale: ColourScale | None = None
    """Colour scale of the figure."""

    def x(self, values: Any) -> Float[np.ndarray, "..."]:
        """Return the pixels of numbers on the x axis; NaN for None."""
        return _between(self.plot.x, values, self.left, self.right)

    def y(self, values: Any) -> Float[np.ndarray, "..."]:
        """Return the pixels of numbers on the y axis; NaN for None."""
        return _between(self.plot.y, values, self.bottom, self.top)

    def colours(self, values: Float[np.ndarray, "*shape"]) -> UInt8[np.ndarray, "*shape rgba"]:
        """Colours on the scale of the figure; a `ValueError` where it has none, and plotly makes one up."""
        if self.scale is None:
            raise ValueError("The figure has no colour scale.")
        return scale_colours(values, self.scale.colours, (self.scale.ticks[0], self.scale.ticks[-1]))


def _between(axis: Axis | Scale, values: Any, start: float, stop: float) -> Float[np.ndarray, "..."]:
    first, last = axis.ends
    return start + (np.asarray(values, dtype=float) - first) / (last - first) * (stop - start)


def _each(value: Any, n: int, default: Any = None) -> Shaped[np.ndarray, " mark"]:
    """Repeat what is said once for all marks, and the `default` where nothing is said: one entry per mark."""
    return np.broadcast_to(np.asarray(default if value is None else value, dtype=object), n)


def heatmap_svg(trace: go.Heatmap, box: Box) -> Iterator[str]:
    """Cells in the colours of their numbers, and the gaps between them."""
    z = np.asarray(trace.z, dtype=float)
    has_scale = trace.coloraxis is None
    yield _cells(scale_colours(z, trace.colorscale, (trace.zmin, trace.zmax)) if has_scale else box.colours(z), box)
    for gap, n, place, line in (
        (trace.xgap, z.shape[1], box.x, f"M{{:.2f}} {box.top:.2f}V{box.bottom:.2f}"),
        (trace.ygap, z.shape[0], box.y, f"M{box.left:.2f} {{:.2f}}H{box.right:.2f}"),
    ):
        if gap:
            # A line of odd width on the border of two pixels would be smeared over both.
            lines = map(line.format, place(np.arange(n + 1) - 0.5) - (gap % 2) / 2)
            yield f'<path d="{"".join(lines)}" stroke="{box.ground}" stroke-width="{gap:g}"/>'


def image_svg(trace: go.Image, box: Box) -> Iterator[str]:
    """Cells in colours of their own."""
    rgba = np.asarray(trace.z, dtype=np.uint8)
    opaque = np.full_like(rgba[..., :1], 255)
    yield _cells(rgba if rgba.shape[-1] == 4 else np.concatenate([rgba, opaque], -1), box)


def _cells(rgba: UInt8[np.ndarray, "row column rgba"], box: Box) -> str:
    """Cells centred on 0, 1, ... in their colours."""
    rows, columns, _ = rgba.shape
    across, down = box.x([-0.5, columns - 0.5]), box.y([-0.5, rows - 0.5])
    rgba = rgba[:: 1 if down[0] < down[1] else -1, :: 1 if across[0] < across[1] else -1]
    corners = corners_svg(across.min(), down.min(), np.ptp(across), np.ptp(down))
    look = 'preserveAspectRatio="none" style="image-rendering:pixelated"'
    return f'<image {corners} {look} href="{_png(rgba)}"/>'


def _png(rgba: UInt8[np.ndarray, "row column rgba"]) -> str:
    """PNG of one pixel a cell, as an address that stands for its content."""
    rows, columns, _ = rgba.shape
    lines = np.concatenate([np.zeros((rows, 1), np.uint8), rgba.reshape(rows, -1)], axis=1)  # filter 0 of every line
    header = struct.pack(">IIBBBBB", columns, rows, 8, 6, 0, 0, 0)
    chunks = [(b"IHDR", header), (b"IDAT", zlib.compress(lines.tobytes(), 9)), (b"IEND", b"")]
    data = b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
        for kind, content in chunks
    )
    return f"data:image/png;base64,{base64.b64encode(data).decode('ascii')}"


def bar_svg(trace: go.Bar, box: Box) -> Iterator[str]:
    """Upright bars that begin at their `base`."""
    heights, places = (np.asarray(values, dtype=float) for values in (trace.y, trace.x))
    n, marker = len(heights), trace.marker
    base, width = _each(trace.base, n, 0).astype(float), _each(trace.width, n, _BAR).astype(float)
    left, right = box.x(places - width / 2), box.x(places + width / 2)
    low, high = box.y(base), box.y(base + heights)
    colours, inks = _each(marker.color, n), _each(marker.pattern.fgcolor, n)
    edge = (marker.line.color, marker.line.width)
    for i in np.flatnonzero(np.isfinite(heights + places)):
        corners = left[i], min(low[i], high[i]), right[i] - left[i], abs(high[i] - low[i])
        yield area_svg(corners, colours[i], inks[i] if marker.pattern.shape else "", *edge)


def scatter_svg(trace: go.Scatter, box: Box) -> Iterator[str]:
    """Marks that the `mode` of a trace names, intervals first; points without a number are left out."""
    mode = trace.mode or "lines+markers"
    xs, ys = box.x(trace.x), box.y(trace.y)
    if trace.error_y.array is not None:
        yield _intervals(trace, xs, box)
    if "lines" in mode or trace.fill:
        yield _lines(trace, xs, ys, drawn="lines" in mode)
    if "markers" in mode:
        yield from _markers(trace, xs, ys, box)
    if "text" in mode:
        yield from _texts(trace, xs, ys)


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


def _markers(trace: go.Scatter, xs: Pixels, ys: Pixels, box: Box) -> Iterator[str]:
    marker, line, n = trace.marker, trace.marker.line, len(xs)
    colours = _each(marker.color, n, trace.line.color or line.color or TEXT)
    if marker.coloraxis:
        rgba = box.colours(np.asarray(marker.color, dtype=float))
        colours = np.array(["#" + bytes(colour[:3]).hex() for colour in rgba])
    sizes, symbols = _each(marker.size, n, _MARKER), _each(marker.symbol, n, "circle")
    edges, widths = _each(line.color, n), _each(line.width, n, 0)
    # Marks that look alike are one path: thousands of them stay small.
    paths: dict[str, list[str]] = {}
    for i in np.flatnonzero(np.isfinite(xs + ys)):
        look = mark_look(symbols[i], colour=colours[i], edge=edges[i] or colours[i], width=widths[i])
        paths.setdefault(look, []).append(mark_svg(symbols[i], (xs[i], ys[i]), sizes[i]))
    faint = "" if marker.opacity in (None, 1) else f' opacity="{marker.opacity:g}"'
    for look, path in paths.items():
        yield f'<path d="{"".join(path)}" {look}{faint}/>'


def _texts(trace: go.Scatter, xs: Pixels, ys: Pixels) -> Iterator[str]:
    n, font = len(xs), trace.textfont
    texts, sizes, colours = _each(trace.text, n), _each(font.size, n, _TEXT), _each(font.color, n, TEXT)
    upright, across = (trace.textposition or "middle center").split()
    for i in np.flatnonzero(np.isfinite(xs + ys)):
        if texts[i]:
            look = {"size": sizes[i], "colour": colours[i], "anchor": _ANCHORS[across], "shadow": font.shadow}
            yield text_svg(texts[i], (xs[i], ys[i]), valign=_VALIGNS[upright], **look)
