"""Axes of a figure: where numbers stand in pixels, and their ticks as SVG."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from headcats.figures.static.text import label_width, svg_text

_TICK_SIZE, _NAME_SIZE = 10, 12


@dataclass(frozen=True)
class Span:
    """One axis between two pixels.

    Attributes:
        axis: As plotly has it, linear or logarithmic, with a range.
        start: Pixel of the first end of its range.
        stop: Pixel of the second.
    """

    axis: Any
    start: float
    stop: float

    def place(self, values: Any) -> Float[np.ndarray, "..."]:
        """Pixels of numbers; NaN for numbers that a logarithmic axis does not have."""
        numbers = np.asarray(values, dtype=float)
        if self.axis.type == "log":
            numbers = np.log10(numbers, out=np.full_like(numbers, np.nan), where=numbers > 0)
        first, last = map(float, self.axis.range)  # of a logarithmic axis: powers of ten
        return self.start + (numbers - first) / (last - first) * (self.stop - self.start)

    @property
    def ends(self) -> tuple[float, float]:
        """The smaller pixel first."""
        return min(self.start, self.stop), max(self.start, self.stop)

    def ticks(self) -> list[tuple[float, str]]:
        """Pixel and text of every tick within the range."""
        values, texts = self._tick_texts()
        (low, high), places = self.ends, self.place(values)
        inside = (places >= low - 1e-6) & (places <= high + 1e-6)
        return [(float(place), text) for place, text, shown in zip(places, texts, inside, strict=True) if shown]

    def _tick_texts(self) -> tuple[list[float], list[str]]:
        axis = self.axis
        if axis.tickvals is not None:
            values = [float(value) for value in axis.tickvals]
            given = [f"{value:g}" for value in values] if axis.ticktext is None else axis.ticktext
            return values, [str(text) for text in given]
        low, high = sorted(map(float, axis.range))
        if axis.type == "log":
            powers = range(math.ceil(low - 1e-9), math.floor(high + 1e-9) + 1)
            return [10.0**power for power in powers], [f"{10.0**power:g}" for power in powers]
        values = _round_ticks(low, high, axis.nticks or 5)
        return values, [f"{value:g}".replace("-", "−") for value in values]


def spans(fig: go.Figure, number: str) -> tuple[Span, Span]:
    """The x and y axis of that number ("" for the first)."""
    layout = fig.layout
    x, y = layout[f"xaxis{number}"], layout[f"yaxis{number}"]
    (left, right), (bottom, top) = x.domain, y.domain
    width, height = layout.width, layout.height
    return Span(x, left * width, right * width), Span(y, (1 - bottom) * height, (1 - top) * height)


def axis_svg(x: Span, y: Span, *, text: str) -> Iterator[str]:
    """Grid lines, ticks, their texts and the names of two axes; `text` is the colour of texts."""
    (left, right), (top, bottom) = x.ends, y.ends
    above = x.axis.side == "top"
    edge, out = (top, -1) if above else (bottom, 1)
    size = x.axis.tickfont.size or _TICK_SIZE
    for place, label in x.ticks():
        yield _tick(x.axis, (place, edge), (0, 3 * out))
        if x.axis.tickangle:
            at = (place + 2, edge - 8 - 0.4 * size)
            yield svg_text(label, at, size=size, colour=text, valign="middle", angle=x.axis.tickangle)
        else:
            at, valign = (place, edge + 5 * out), "bottom" if above else "top"
            yield svg_text(label, at, size=size, colour=text, anchor="center", valign=valign)
    size = y.axis.tickfont.size or _TICK_SIZE
    ticks = y.ticks()
    for place, label in ticks:
        if y.axis.showgrid:
            yield f'<path d="M{left:.2f} {place:.2f}H{right:.2f}" stroke="{y.axis.gridcolor}"/>'
        yield _tick(y.axis, (left, place), (-3, 0))
        yield svg_text(label, (left - 6, place), size=size, colour=text, anchor="right", valign="middle")
    if name := x.axis.title.text:
        at = ((left + right) / 2, bottom + 20)
        yield svg_text(name, at, size=x.axis.title.font.size or _NAME_SIZE, colour=text, anchor="center")
    if name := y.axis.title.text:
        longest = max((label_width(label, size) for _, label in ticks), default=0)
        at, size = (left - 18 - longest, (top + bottom) / 2), y.axis.title.font.size or _NAME_SIZE
        yield svg_text(name, at, size=size, colour=text, anchor="center", valign="middle", angle=-90)


def _tick(axis: Any, start: tuple[float, float], step: tuple[int, int]) -> str:
    if axis.ticks != "outside":
        return ""
    return f'<path d="M{start[0]:.2f} {start[1]:.2f}l{step[0]} {step[1]}" stroke="{axis.tickcolor}"/>'


def _round_ticks(low: float, high: float, most: int) -> list[float]:
    """At most so many round numbers between two, as plotly chooses them."""
    rough = (high - low) / most
    magnitude = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * magnitude for factor in (2, 5, 10) if factor * magnitude >= rough * (1 - 1e-9))
    count = range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)
    return [round(n * step, 12) for n in count]
