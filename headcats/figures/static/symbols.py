"""Marks of plotly's scatter traces as SVG paths."""

from typing import Any

import numpy as np
from jaxtyping import Shaped

# Corners in shares of the radius, as plotly draws them.
_POLYGONS = {
    "square": ((-1, -1), (1, -1), (1, 1), (-1, 1)),
    "diamond": ((0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0)),
    "triangle-down": ((-1.15, -0.5), (1.15, -0.5), (0, 1)),
    "triangle-up": ((-1.15, 0.5), (1.15, 0.5), (0, -1)),
    "cross": (
        (-0.4, -1.2), (0.4, -1.2), (0.4, -0.4), (1.2, -0.4), (1.2, 0.4), (0.4, 0.4),
        (0.4, 1.2), (-0.4, 1.2), (-0.4, 0.4), (-1.2, 0.4), (-1.2, -0.4), (-0.4, -0.4),
    ),
}  # fmt: skip
_LINES = {"x-thin": (((-1, -1), (1, 1)), ((-1, 1), (1, -1))), "line-ew": (((-1.4, 0), (1.4, 0)),)}


def each(value: Any, n: int, default: Any = None) -> Shaped[np.ndarray, " mark"]:
    """Repeat what is said once for all marks, and the `default` where nothing is said: one entry per mark."""
    return np.broadcast_to(np.asarray(default if value is None else value, dtype=object), n)


def outline(symbol: str, at: tuple[float, float], size: float) -> str:
    """Path of a mark of that diameter around a place; a circle for symbols without a shape here."""
    (x, y), radius, name = at, size / 2, _shape(symbol)
    if name in _LINES:
        return "".join(
            f"M{x + radius * x0:.2f} {y + radius * y0:.2f}L{x + radius * x1:.2f} {y + radius * y1:.2f}"
            for (x0, y0), (x1, y1) in _LINES[name]
        )
    if name in _POLYGONS:
        return "M" + "L".join(f"{x + radius * px:.2f} {y + radius * py:.2f}" for px, py in _POLYGONS[name]) + "Z"
    half = f"a{radius:.2f} {radius:.2f} 0 1 0"
    return f"M{x - radius:.2f} {y:.2f}{half}{size:.2f} 0{half}-{size:.2f} 0"


def look(symbol: str, *, colour: str, edge: str, width: float) -> str:
    """Attributes of the path of a mark: `edge` is drawn around it where its `width` is above 0."""
    if _shape(symbol) in _LINES:
        return f'stroke="{edge if width else colour}" stroke-width="{width or 1:g}"'
    if symbol.endswith("-open"):
        return f'fill="none" stroke="{colour}" stroke-width="{width or 1:g}"'
    return f'fill="{colour}"' + (f' stroke="{edge}" stroke-width="{width:g}"' if width else "")


def _shape(symbol: str) -> str:
    return symbol.removesuffix("-dot").removesuffix("-open")
