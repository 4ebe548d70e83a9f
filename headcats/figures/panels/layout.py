"""Panels, where those of a grid stand, and figures in pixels, of which `interactive` and `static` make pictures."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import plotly.graph_objects as go

from headcats.figures.colours import FRAME
from headcats.figures.panels.axes import Axis, Scale
from headcats.figures.panels.text import EDGE, LARGE, MEDIUM, SMALL, fold, line_height, text_width

WIDEST = 1380
"""Pixels that a figure may be wide before its panels go to another row, or shrink: fits a window 1400 pixels wide."""
APART = 16
"""Pixels between plots on top of each other."""
TITLE_TOP = 12
"""Pixels above the title."""
MARKED, UNMARKED = "all", "none"
"""Values of the option `marks` of figures: every mark; colours alone, as in most published figures."""
_AXIS_NAME, _TICKS, _SECTION, _BETWEEN_ROWS, _RIGHT = 20, 22, 26, 10, 26
_WIDEST_NAME = 200  # a longer name is folded where its panel is narrower
_WIDEST_NOTE = 280


@dataclass(frozen=True)
class Plot:
    """Traces over two axes."""

    x: Axis
    y: Axis | Scale
    size: tuple[int, int]
    """Width and height in pixels."""
    traces: Sequence[go.Heatmap | go.Image | go.Scatter | go.Bar | None]
    """Without axes; None is left out."""

    def unmarked(self) -> "Plot":
        """Keep cells, without gaps between them, and the frames around some."""
        traces = [
            trace
            for trace in self.traces
            if isinstance(trace, go.Heatmap | go.Image) or (isinstance(trace, go.Scatter) and trace.line.color == FRAME)
        ]
        for trace in traces:
            if isinstance(trace, go.Heatmap):
                trace.update(xgap=0, ygap=0)
        return replace(self, traces=traces)


@dataclass(frozen=True)
class Panel:
    """Name, notes below it, and plots on top of each other, of the same sizes in all panels of a grid."""

    name: str
    plots: Sequence[Plot]
    notes: Sequence[str] = ()
    """Lines of HTML below the name."""
    section: str = ""
    """Panels of one section begin a new row below its name."""

    def unmarked(self) -> "Panel":
        """Keep the name and the colours of the cells: what the pointer shows stays too."""
        return replace(self, notes=(), plots=[plot.unmarked() for plot in self.plots])


@dataclass(frozen=True)
class Text:
    """Line of HTML, placed by its top."""

    html: str
    size: int = MEDIUM
    anchor: str = "left"
    """Part of it that is at its place: "left" or "center"."""
    quiet: bool = False
    """True if it stands back."""


@dataclass(frozen=True)
class Placed:
    """Part of a figure and its upper left corner."""

    part: Any
    """A `Plot`, `Text`, `Legend` or `ColourScale`."""
    at: tuple[int, int]
    length: int = 0
    """Length of the bar of a colour scale."""
    named: tuple[bool, bool] = (True, True)
    """True for the x and for the y axis of a plot if it has its name."""


@dataclass(frozen=True)
class Drawing:
    """All parts of a figure, the first ones lowest; places are pixels from its upper left corner."""

    width: int
    height: int
    title: str | None
    """Heading, as HTML."""
    parts: Sequence[Placed]
    grey: bool = False
    """True if plots are grey where nothing is drawn on them."""

    def of_kind(self, kind: type) -> Iterable[Placed]:
        """Parts of a kind."""
        return (placed for placed in self.parts if isinstance(placed.part, kind))


@dataclass(frozen=True)
class Layout:
    """Places of panels, from the upper left corner of what stands below the caption."""

    corners: list[tuple[int, int]]
    """Left and top of every panel's plots."""
    outer: list[tuple[bool, bool]]
    """True where the names of a panel's axes are written: x below the last of a column, y left of the first column."""
    names: list[list[str]]
    """Lines of every panel's name."""
    name_height: int
    heading: int
    """Height of name, notes and the labels above a panel."""
    beside_left: int
    """Left edge of the thing beside the panels."""
    right: int
    """Right end of panels and what is beside them, with the space behind."""
    last_row_bottom: int
    """Lower end of the plots."""
    bottom: int
    """Lower end with the axis below."""


def arranged(panels: Sequence[Panel], *, columns: int, one_row: bool = False, beside: int = 0) -> Layout:
    """Arrange panels in as few rows as `columns` and the width allow, these rows in as few columns as they need.

    No panel is left alone on a row: 5 panels in at most 4 columns stand as 3 + 2. Pixels of what is `beside` them stay
    free on the right, or after the first panel of `one_row`.
    """
    plots, x = panels[0].plots, panels[0].plots[-1].x
    width = max(plot.size[0] for plot in plots)
    height = sum(plot.size[1] for plot in plots) + APART * (len(plots) - 1)
    lean = x.lean(width / x.n)
    axis_name = _AXIS_NAME if any(plot.y.name for plot in plots) else 0
    ticks = max(plot.y.room for plot in plots)
    left = EDGE + axis_name + ticks

    sections = [list(section) for _, section in groupby(panels, lambda panel: panel.section)]
    longest = max(map(len, sections))
    step = width + ticks + max(18, lean + 8)
    named = max(text_width(panel.name, name_size(panel)) for panel in panels)
    noted = max((text_width(note, SMALL) for panel in panels for note in panel.notes), default=0)
    text = max(min(_WIDEST_NAME, named + 14), min(_WIDEST_NOTE, noted + 14))
    if not one_row:
        step = max(step, text)
    room = WIDEST - (left + width + _RIGHT + (beside + 18 if beside else 0))
    columns = max(1, min(columns, room // step + 1)) if not one_row else longest
    columns = math.ceil(longest / math.ceil(longest / columns))

    # The last column has no other to its right.
    widened = step == text and not one_row
    name_width = step - 6 if widened else min(step - 6, width + 22)
    names = [fold(panel.name, width=name_width, size=name_size(panel)) for panel in panels]
    name_height = max(map(len, names)) * line_height(name_size(panels[0])) if any(p.name for p in panels) else 0
    notes = max(len(panel.notes) for panel in panels) * line_height(SMALL)
    heading = name_height + notes + 4 + (x.room if x.slanted else 0)
    below = 0 if x.slanted or x.room <= 6 else _TICKS
    x_name = _AXIS_NAME if x.name or x.groups else 0
    after_first = beside + 10 if one_row else 0
    lefts = [left + column * step + (after_first if column else 0) for column in range(columns)]
    right = lefts[-1] + (width if one_row else max(width, text))
    beside_left = left + width + 10 if one_row else right + max(18, lean + 6)

    corners: list[tuple[int, int]] = []
    outer: list[tuple[bool, bool]] = []
    y = 0
    for section in sections:
        y += (_SECTION if section[0].section else 0) + heading
        for place in range(len(section)):
            row, column = divmod(place, columns)
            corners.append((lefts[column], y + row * (heading + height + below + _BETWEEN_ROWS)))
            outer.append((place + columns >= len(section), column == 0))
        y = corners[-1][1] + height + below + x_name
    return Layout(
        corners=corners,
        outer=outer,
        names=names,
        name_height=name_height,
        heading=heading,
        beside_left=beside_left,
        # Slanted labels reach over the last panel, into the room of what is beside it where there is any.
        right=_RIGHT
        + (
            beside_left + beside
            if beside and (not one_row or len(lefts) == 1)
            else max(right, lefts[-1] + width + lean)
        ),
        last_row_bottom=y - below - x_name,
        bottom=y,
    )


def name_size(panel: Panel) -> int:
    """Size of the letters of a panel's name: smaller below the name of a section."""
    return MEDIUM if panel.section else LARGE
