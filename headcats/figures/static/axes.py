"""Plots in pixels, and their two axes as SVG."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from headcats.figures.colours import BACKGROUND, GRID, TEXT, TICK
from headcats.figures.panels.axes import Axis, Scale
from headcats.figures.panels.colour_scale import ColourScale
from headcats.figures.panels.layout import Plot
from headcats.figures.panels.text import MEDIUM
from headcats.figures.static.text import label_width, svg_text


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
    """Scale of the figure."""

    def x(self, values: Any) -> Float[np.ndarray, "..."]:
        """Return the pixels of numbers on the x axis; NaN for None."""
        return _between(self.plot.x, values, self.left, self.right)

    def y(self, values: Any) -> Float[np.ndarray, "..."]:
        """Return the pixels of numbers on the y axis; NaN for None."""
        return _between(self.plot.y, values, self.bottom, self.top)


def _between(axis: Axis | Scale, values: Any, start: float, stop: float) -> Float[np.ndarray, "..."]:
    first, last = axis.ends
    return start + (np.asarray(values, dtype=float) - first) / (last - first) * (stop - start)


def rectangle(left: float, top: float, width: float, height: float) -> str:
    """Attributes of a rectangle in SVG."""
    return f'x="{left:.2f}" y="{top:.2f}" width="{width:.2f}" height="{height:.2f}"'


def axis_svg(box: Box, named: tuple[bool, bool]) -> Iterator[str]:
    """Grid lines, ticks and texts of both axes of a plot, and their names where they are `named`."""
    x, y = box.plot.x, box.plot.y
    edge, out = (box.top, -1) if x.slanted else (box.bottom, 1)
    for value, label in x.marks:
        place = float(box.x(value))
        if box.left - 1e-6 <= place <= box.right + 1e-6:
            yield f'<path d="M{place:.2f} {edge:.2f}v{3 * out}" stroke="{TICK}"/>'
            if x.slanted:
                at = (place + 2, edge - 8 - 0.4 * x.tick_size)
                yield svg_text(label, at, size=x.tick_size, colour=TEXT, valign="middle", angle=-45)
            else:
                yield svg_text(label, (place, edge + 5), size=x.tick_size, colour=TEXT, anchor="center")
    longest = 0.0
    for value, label in y.marks:
        place = float(box.y(value))
        if box.top - 1e-6 <= place <= box.bottom + 1e-6:
            if isinstance(y, Scale):
                line = GRID if value else TICK
                yield f'<path d="M{box.left:.2f} {place:.2f}H{box.right:.2f}" stroke="{line}"/>'
            yield f'<path d="M{box.left:.2f} {place:.2f}h-3" stroke="{TICK}"/>'
            yield svg_text(label, (box.left - 6, place), size=y.tick_size, colour=TEXT, anchor="right", valign="middle")
            longest = max(longest, label_width(label, y.tick_size))
    if named[0] and x.name and not x.slanted:
        at = ((box.left + box.right) / 2, box.bottom + 20)
        yield svg_text(x.name, at, size=MEDIUM, colour=TEXT, anchor="center")
    if named[1] and y.name:
        at = (box.left - 18 - longest, (box.top + box.bottom) / 2)
        yield svg_text(y.name, at, size=MEDIUM, colour=TEXT, anchor="center", valign="middle", angle=-90)
