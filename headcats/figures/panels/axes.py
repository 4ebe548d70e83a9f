"""Axes of a panel: over unit cells (layers, heads, roles, names), or over numbers."""

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from headcats.figures.colours import GRID, TICK
from headcats.figures.panels.text import MEDIUM, SMALL, escaped, text_width
from headcats.results.visible import shortened

_TICK_ROOM = 15  # pixels between two labels of an axis
_NUMBER_ROOM = 24  # pixels between two numbers of which plotly chooses the distance, which it rounds up
_ALL_LABELLED = 16  # so many cells are all labelled; more labels than that are read as a texture
_NUMBER = 10  # pixels of a number at a tick
_FEW = 5  # most steps between the numbers of a scale
_LEAN = math.sqrt(0.5)  # height and width of a slanted label, in shares of its length


@dataclass(frozen=True)
class Axis:
    """Axis over unit cells, centred on 0 .. n - 1."""

    column: str  # column of the frame with each row's cell: a number from 0, or one of the labels
    n: int  # cells
    name: str = ""  # written beside it; "" for none
    ticks: Sequence[int] = ()  # cells that are numbered, whatever part of the axis one looks at
    most: int = 0
    """Most numbers at a time in place of `ticks`, of cells that lie at round distances in what one looks at."""
    tick_texts: Sequence[str] = ()  # texts at the ticks, in place of the numbers of their cells
    labels: Sequence[str] = ()
    """Names of the cells, of the first ones at least, written in place of the ticks."""
    reverse: bool = False  # true if cells run against the usual direction (y: cell 0 on top)
    first: int = 0  # number of the first cell
    slanted: bool = False  # true if the labels of an x axis stand above the panel at 45 degrees
    after: float = 0.0  # length behind its last cell, in cells
    groups: Sequence[tuple[str, int]] = ()
    """Names of neighbouring cells of an x axis, and how many: written below the panel, with a gap between groups."""

    def every(self, step: int, cell: float, *, few: int = _ALL_LABELLED) -> "Axis":
        """Set ticks at 0, `step`, ... for cells of that many pixels.

        Every cell of up to `few` is labelled where the labels have room. Where they have not, a grid too small for
        three ticks gets finer steps (every cell below 7 of them, else every second), and one whose labels would touch
        a multiple of the step.
        """
        if self.n <= few and cell >= _TICK_ROOM:
            step = 1
        elif self.n <= 2 * step:
            step = min(step, 1 if self.n < 7 else 2)
        step *= max(1, math.ceil(_TICK_ROOM / (step * cell)))
        return dataclasses.replace(self, ticks=range(0, self.n, step))

    def with_last_tick(self, cell: float = 2) -> "Axis":
        """Make it longer by half a cell of that many pixels, rounded up to a whole one, where a tick is at `n`."""
        after = math.ceil(cell / 2) / cell if self.n in self.ticks else 0.0
        return dataclasses.replace(self, after=after)

    def numbered(self, cell: float) -> "Axis":
        """Let its numbers adapt to zoom, as many as cells of so many pixels have room for."""
        all_fit = self.n <= _ALL_LABELLED and cell >= _TICK_ROOM
        return dataclasses.replace(self, most=self.n if all_fit else max(1, int(self.n * cell) // _NUMBER_ROOM))

    @property
    def length(self) -> float:
        """Length in cells."""
        return self.n + self.after

    @property
    def room(self) -> int:
        """Pixels that ticks and labels take across the axis."""
        if not self.labels:
            return 28 if len(self.ticks) or self.most else 6
        longest = max(map(text_width, self._shown))
        return math.ceil(_LEAN * longest) + 16 if self.slanted else longest + 10

    def lean(self, cell: float) -> int:
        """Pixels by which slanted labels reach over the right edge of a panel whose cells are `cell` wide."""
        ends = [_LEAN * text_width(label) - (self.n - i - 0.5) * cell for i, label in enumerate(self._shown)]
        return math.ceil(max(0, *ends)) if self.slanted else 0

    def layout(self, *, named: bool) -> dict[str, Any]:
        """Describe it to plotly, with or without its name."""
        layout = _plain(self.name if named and not self.slanted else "", self.tick_size) | {
            "tickangle": -45 if self.slanted else 0,
            "range": list(self.ends),
            "scaleanchor": False,  # pictures would make their cells square
        }
        if self._adapts:
            # In the smallest parts plotly would number halves of cells too; pages then set the step to 1 (in_pages.js).
            return layout | {"tickmode": "auto", "nticks": self.most}
        layout["tickvals"] = [place for place, _ in self.marks]
        if self.first or self.tick_texts or self.labels:
            layout["ticktext"] = [text for _, text in self.marks]
        return layout | ({"side": "top"} if self.slanted else {})

    @property
    def ends(self) -> tuple[float, float]:
        """Numbers at its left or lower end, and at the other."""
        # A tick at `n` itself, which `ticks` may hold, is not drawn where cells end before: room for it would read as
        # an empty layer.
        low, high = -0.5, self.length - 0.5
        return (high, low) if self.reverse else (low, high)

    @property
    def marks(self) -> Sequence[tuple[float, str]]:
        """Places and texts, as HTML, of its ticks before anybody zooms."""
        if self._adapts:
            return _round_marks(-0.5, self.length - 0.5, self.most)
        cells = range(len(self.labels) or self.n) if self.labels or self.most else self.ticks
        texts = self._shown or self.tick_texts or [str(cell + self.first) for cell in cells]
        return list(zip(cells, map(escaped, texts), strict=True))

    @property
    def tick_size(self) -> int:
        """Pixels of the letters at its ticks."""
        return SMALL if self.labels else _NUMBER

    @property
    def _adapts(self) -> bool:
        """True if plotly chooses the numbers, by the part of the axis one looks at."""
        return 0 < self.most < self.n

    @property
    def _shown(self) -> list[str]:
        return [shortened(str(label)) for label in self.labels]


@dataclass(frozen=True)
class Scale:
    """Axis over numbers; plotly chooses its ticks, with a light line at each."""

    low: float
    high: float
    name: str = ""  # written beside it; "" for none
    format: str = ""  # format of the ticks, as d3 writes it: "d" for whole numbers
    room: int = 44  # pixels that ticks take across the axis
    tick_size: int = _NUMBER  # pixels of the letters at its ticks

    @property
    def ends(self) -> tuple[float, float]:
        """Numbers at its lower end and at the upper."""
        return self.low, self.high

    @property
    def marks(self) -> Sequence[tuple[float, str]]:
        """Places and texts of its ticks before anybody zooms."""
        return _round_marks(self.low, self.high, _FEW)

    def layout(self, *, named: bool) -> dict[str, Any]:
        """Describe it to plotly, with or without its name."""
        return _plain(self.name if named else "", self.tick_size) | {
            "showgrid": True,
            "gridcolor": GRID,
            "zeroline": True,
            "zerolinecolor": TICK,
            "zerolinewidth": 1,
            "range": [self.low, self.high],
            "nticks": _FEW,
            "tickformat": self.format,
        }


def scale_over(low: float, high: float, name: str, *, default: tuple[float, float]) -> Scale:
    """Scale that holds 0 and both ends, with a little room beyond them; `default` where both are 0 or NaN."""
    low, high = (0.0 if math.isnan(end) else end for end in (low, high))
    low, high = min(0.0, low), max(0.0, high)
    if not high > low:
        return Scale(*default, name)
    return Scale(low - 0.06 * (high - low), high + 0.06 * (high - low), name)


def ticks(n: int) -> list[int]:
    """Tick values of an axis over `n` layers or heads: `arange(0, n + 1, n // 5)`, in steps of 1 below 5."""
    return list(range(0, n + 1, max(1, n // 5)))


def _round_marks(low: float, high: float, most: int) -> list[tuple[float, str]]:
    """At most `most` steps between round numbers, as plotly chooses them."""
    rough = (high - low) / most
    magnitude = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * magnitude for factor in (2, 5, 10) if factor * magnitude >= rough * (1 - 1e-9))
    steps = range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)
    return [(round(n * step, 12), f"{round(n * step, 12):g}".replace("-", "−")) for n in steps]


def _plain(name: str, tick_size: int) -> dict[str, Any]:
    return {
        "showgrid": False,
        "zeroline": False,
        "showline": False,
        "ticks": "outside",
        "ticklen": 3,
        "tickcolor": TICK,
        "tickfont": {"size": tick_size},
        # Figures have room for their labels; plotly would measure every one, and leave out those that reach far.
        "ticklabeloverflow": "allow",
        "title": {"text": name, "standoff": 4, "font": {"size": MEDIUM}},
    }
