"""Layout of all figures: panels in rows, with their axes, names, caption, legend or colour bar.

A figure declares what its panels hold; where things stand, and how large they are, is decided here alone.
"""

import html
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, runtime_checkable

import pandas as pd
import plotly.graph_objects as go

from headcats.base.errors import UnknownNameError, unknown_name_message
from headcats.figures.colours import BACKGROUND
from headcats.figures.panels.axes import Scale
from headcats.figures.panels.interactive import plotly_figure
from headcats.figures.panels.layout import (
    APART,
    MARKED,
    UNMARKED,
    WIDEST,
    Drawing,
    Layout,
    Panel,
    Placed,
    Plot,
    Text,
    arranged,
    name_size,
)
from headcats.figures.panels.text import (
    EDGE,
    LARGE,
    MISSING,
    SMALL,
    TITLE,
    escaped,
    fold,
    fold_caption,
    line_height,
    text_width,
)

_BOTTOM = 12
_TITLE_ROOM, _CAPTION_LINE = 28, 18


@runtime_checkable
class Beside(Protocol):
    """Thing beside the panels, such as a `ColourScale` or a `Legend`."""

    def size(self, length: int) -> tuple[int, int]:
        """Width and height in pixels beside plots of that height."""

    def placed(self, at: tuple[int, int], length: int) -> list[Placed]:
        """Parts of it, that long, with its upper left corner at a place in pixels."""

    def unmarked(self) -> "Beside":
        """Leave out what explains marks."""


@dataclass(frozen=True)
class PanelGrid:
    """Panels and the words around them, which `@figure` draws."""

    panels: Sequence[Panel]
    frame: pd.DataFrame
    """The numbers behind the figure."""
    title: str | None = None
    """Heading as HTML, which `@figure` makes of the option `title`."""
    caption: Sequence[str] = ()
    """Parts of the lines below the title, as HTML."""
    least: int = 720
    """Smallest width in pixels."""
    columns: int = 4
    """Most panels in a row."""
    one_row: bool = False
    """True if all panels stand side by side, and what is beside them after the first."""
    beside: Beside | None = None
    """On the right, at the height of the first row."""
    grey: bool = False
    """True if a panel is grey where nothing is drawn on it, as cells without a number are."""
    approximation: str = ""
    """Approximation of the effects, where the table that was drawn does not say so itself."""
    marks: str = MARKED
    """`UNMARKED` leaves out what is drawn on the colours of cells, and the notes and the caption that explain it."""
    views: Mapping[str, Sequence[bool]] = field(default_factory=dict)
    """Name of a view -> which of the `traces` it shows, for a page with buttons of its own."""

    def __post_init__(self) -> None:
        """Raise `UnknownNameError` for a choice of marks that does not exist."""
        if self.marks not in (MARKED, UNMARKED):
            raise UnknownNameError(unknown_name_message("choice of marks", self.marks, (MARKED, UNMARKED)))

    @property
    def traces(self) -> list[Any]:
        """Traces of all plots."""
        return [trace for panel in self.panels for plot in panel.plots for trace in plot.traces if trace is not None]

    def draw(self) -> go.Figure:
        """Figure, as wide as its panels, its title and its caption need."""
        return plotly_figure((self._unmarked() if self.marks == UNMARKED else self)._drawing())

    def _unmarked(self) -> "PanelGrid":
        panels = [panel.unmarked() for panel in self.panels]
        beside = self.beside.unmarked() if self.beside else None
        return replace(self, panels=panels, caption=(), least=0, beside=beside)

    def _drawing(self) -> Drawing:
        beside = self.beside.size(0)[0] if self.beside else 0
        places = arranged(self.panels, columns=self.columns, one_row=self.one_row, beside=beside)
        title_width = min(WIDEST, 2 * EDGE + text_width(html.unescape(self.title or ""), TITLE))
        width = max(places.right, self.least, title_width)
        said, kinds = list(self.caption), {trace.name for trace in self.traces}
        if MISSING in kinds and not any(part.startswith("×") for part in said):
            said.append(f"× {MISSING}")
        caption = fold_caption(said, width=width - 2 * EDGE)
        caption_top = 14 + (_TITLE_ROOM if self.title else 0)
        below_caption = caption_top + _CAPTION_LINE * len(caption) + 8
        top = below_caption + places.corners[0][1]
        length = self.beside.size(places.last_row_bottom - places.corners[0][1])[1] if self.beside else 0
        height = max(below_caption + places.bottom, top + length) + _BOTTOM

        lines = enumerate(caption)
        parts = [Placed(Text(line, quiet=True), (EDGE, caption_top + _CAPTION_LINE * i)) for i, line in lines]
        for place in range(len(self.panels)):
            parts += self._panel(place, places, below_caption)
        if self.beside:
            parts += self.beside.placed((places.beside_left, top), length)
        return Drawing(width, height, self.title, parts, self.grey)

    def _panel(self, place: int, places: Layout, below_caption: int) -> Iterator[Placed]:
        panel, (left, top) = self.panels[place], places.corners[place]
        top += below_caption
        y = top - places.heading
        if panel.section and (place == 0 or panel.section != self.panels[place - 1].section):
            yield Placed(Text(f"<b>{escaped(panel.section)}</b>", LARGE), (EDGE, y - line_height(LARGE) - 4))
        size = name_size(panel)
        lines = [(escaped(line), size) for line in places.names[place]] if panel.name else []
        # Names of one line stand beside the last line of longer ones.
        y += places.name_height - line_height(size) * len(lines)
        for text, size in [*lines, *((note, SMALL) for note in panel.notes)]:
            yield Placed(Text(text, size, quiet=size == SMALL), (left, y))
            y += line_height(size)
        for i, plot in enumerate(panel.plots):
            last = i == len(panel.plots) - 1
            named = (places.outer[place][0] and last, places.outer[place][1])
            traces = [trace for trace in plot.traces if trace is not None]
            traces += _behind_cells(plot) if self.grey else []
            yield Placed(replace(plot, traces=traces), (left, top), named=named)
            top += plot.size[1] + APART
            start = 0
            for name, n in plot.x.groups:
                width = n * plot.size[0] // plot.x.n
                middle = left + (2 * start + n) * plot.size[0] // (2 * plot.x.n)
                text = f"<b>{escaped(fold(name, width=width)[0])}</b>"
                yield Placed(Text(text, anchor="center"), (middle, top - APART + 4))
                start += n
            if plot.x.slanted and plot.x.name and not plot.x.groups:
                yield Placed(Text(plot.x.name, anchor="center"), (left + plot.size[0] // 2, top - APART + 6))


def _behind_cells(plot: Plot) -> list[go.Scatter]:
    """White where an axis goes on behind its last cell, which on grey would read as cells without a number."""
    if isinstance(plot.y, Scale):
        return []
    right, bottom = plot.x.n - 0.5, plot.y.n - 0.5
    corner = right + plot.x.after, bottom + plot.y.after
    boxes = [((right, -0.5), corner)] * bool(plot.x.after) + [((-0.5, bottom), corner)] * bool(plot.y.after)
    area = {"mode": "lines", "line": {"width": 0, "color": BACKGROUND}, "fill": "toself", "fillcolor": BACKGROUND}
    return [
        go.Scatter(x=[x0, x1, x1, x0, x0], y=[y0, y0, y1, y1, y0], name="behind the last cells", **area)
        for (x0, y0), (x1, y1) in boxes
    ]
