"""Cells and bars as SVG: all cells in one embedded PNG, so that 80 x 64 heads take a few kilobytes."""

import base64
import struct
import zlib
from collections.abc import Iterator

import numpy as np
import plotly.graph_objects as go
from jaxtyping import UInt8

from headcats.figures.static.axes import Box, rectangle
from headcats.figures.static.colours import figure_colours, scale_colours
from headcats.figures.static.symbols import each

_BAR = 0.8  # width where a figure says nothing, as plotly has it
_HATCH = 5.0  # pixels between the lines of hatching


def heatmap_svg(trace: go.Heatmap, box: Box) -> Iterator[str]:
    """Cells in the colours of their numbers, and the gaps between them."""
    z = np.asarray(trace.z, dtype=float)
    has_scale = trace.coloraxis is None
    rgba = scale_colours(z, trace.colorscale, (trace.zmin, trace.zmax)) if has_scale else figure_colours(z, box.scale)
    yield _picture(rgba, box)
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
    yield _picture(rgba if rgba.shape[-1] == 4 else np.concatenate([rgba, opaque], -1), box)


def _picture(rgba: UInt8[np.ndarray, "row column rgba"], box: Box) -> str:
    """Cells centred on 0, 1, ... in their colours."""
    rows, columns, _ = rgba.shape
    across, down = box.x([-0.5, columns - 0.5]), box.y([-0.5, rows - 0.5])
    rgba = rgba[:: 1 if down[0] < down[1] else -1, :: 1 if across[0] < across[1] else -1]
    corners = rectangle(across.min(), down.min(), np.ptp(across), np.ptp(down))
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
    base, width = each(trace.base, n, 0).astype(float), each(trace.width, n, _BAR).astype(float)
    left, right = box.x(places - width / 2), box.x(places + width / 2)
    low, high = box.y(base), box.y(base + heights)
    colours, inks = each(marker.color, n), each(marker.pattern.fgcolor, n)
    edge = (marker.line.color, marker.line.width)
    for i in np.flatnonzero(np.isfinite(heights + places)):
        corners = left[i], min(low[i], high[i]), right[i] - left[i], abs(high[i] - low[i])
        yield area_svg(corners, colours[i], inks[i] if marker.pattern.shape else "", *edge)


def area_svg(
    corners: tuple[float, float, float, float], colour: str, ink: str, edge: str | None = None, width: float | None = 0
) -> str:
    """Rectangle (left, top, width, height) with hatching in that `ink` and an edge, where it has them."""
    left, top, wide, high = corners
    line = f' stroke="{edge}" stroke-width="{width:g}"' if width else ""
    area = f'<rect {rectangle(*corners)} fill="{colour}"{line}/>'
    if not ink:
        return area
    path = ""
    for start in np.arange(_HATCH, wide + high, _HATCH):
        x0, y0 = max(0.0, start - high), min(high, start)
        x1, y1 = min(wide, start), max(0.0, start - wide)
        path += f"M{left + x0:.2f} {top + y0:.2f}L{left + x1:.2f} {top + y1:.2f}"
    return f'{area}<path d="{path}" stroke="{ink}"/>' if path else area
