"""Heatmaps and images as SVG: all cells in one embedded PNG, so that 80 x 64 heads take a few kilobytes."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import UInt8

from headcats.figures.static.arrays import numbers, unpacked
from headcats.figures.static.axes import Span
from headcats.figures.static.colours import css_colour, scale_colours
from headcats.figures.static.png import png_address


def heatmap_svg(fig: go.Figure, trace: Any, x: Span, y: Span) -> Iterator[str]:
    """Cells in the colours of their numbers, and the gaps between them."""
    z = numbers(trace.z)
    if trace.coloraxis is None:
        scale, ends = trace.colorscale, (trace.zmin, trace.zmax)
    else:
        axis = fig.layout.coloraxis
        scale, ends = axis.colorscale, (axis.cmin, axis.cmax)
    yield _picture(scale_colours(z, scale, ends), x, y)
    yield from _gaps(trace, z.shape, x, y, css_colour(fig.layout.plot_bgcolor))


def image_svg(fig: go.Figure, trace: Any, x: Span, y: Span) -> Iterator[str]:
    """Cells in colours of their own."""
    rgba = unpacked(trace.z).astype(np.uint8)
    opaque = np.full_like(rgba[..., :1], 255)
    yield _picture(rgba if rgba.shape[-1] == 4 else np.concatenate([rgba, opaque], -1), x, y)


def _gaps(trace: Any, shape: tuple[int, ...], x: Span, y: Span, ground: str) -> Iterator[str]:
    (left, right), (top, bottom) = x.ends, y.ends
    for gap, n, span in ((trace.xgap, shape[1], x), (trace.ygap, shape[0], y)):
        if gap:
            # A line of odd width on the border of two pixels would be smeared over both.
            places = span.place(np.arange(n + 1) - 0.5) - (gap % 2) / 2
            lines = (
                f"M{p:.2f} {top:.2f}V{bottom:.2f}" if span is x else f"M{left:.2f} {p:.2f}H{right:.2f}" for p in places
            )
            yield f'<path d="{"".join(lines)}" stroke="{ground}" stroke-width="{gap:g}"/>'


def _picture(rgba: UInt8[np.ndarray, "row column rgba"], x: Span, y: Span) -> str:
    """Cells centred on 0, 1, ... in their colours."""
    rows, columns, _ = rgba.shape
    across, down = x.place([-0.5, columns - 0.5]), y.place([-0.5, rows - 0.5])
    if across[1] < across[0]:
        rgba = rgba[:, ::-1]
    if down[1] < down[0]:
        rgba = rgba[::-1]
    (width, height), (left, top) = (abs(np.diff([across, down])).ravel(), (across.min(), down.min()))
    box = f'x="{left:.2f}" y="{top:.2f}" width="{width:.2f}" height="{height:.2f}"'
    look = 'preserveAspectRatio="none" style="image-rendering:pixelated"'
    return f'<image {box} {look} href="{png_address(rgba)}"/>'
