"""Where the panels of a grid stand, in pixels, and an empty figure on which axes and texts are placed in pixels.

The plotting area is the whole figure (no margins), so a place in pixels is a place in paper units and nothing moves
when a font or a title changes.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import plotly.graph_objects as go

from headcats.figures.colours import BACKGROUND, NO_VALUE, OUTLINE, QUIET_TEXT, TEXT
from headcats.figures.panels.axes import Axis, Scale
from headcats.figures.panels.text import (
    EDGE,
    LARGE,
    MEDIUM,
    SMALL,
    TITLE,
    escaped,
    fold,
    line_height,
    text_width,
)
from headcats.results.visible import shortened

WIDEST = 1380
"""Pixels that a figure may be wide before its panels go to another row, or shrink: fits a window 1400 pixels wide."""
APART = 16
"""Pixels between plots on top of each other."""
_AXIS_NAME, _TICKS, _SECTION, _BETWEEN_ROWS, _RIGHT, _TITLE_TOP = 20, 22, 26, 10, 26, 12
_BUTTON, _TEXT_ON_BUTTON = "#d9dde3", "#1d2026"
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


@dataclass(frozen=True)
class Panel:
    """A name, what stands below it, and plots on top of each other, of the same sizes in all panels of a grid."""

    name: str
    plots: Sequence[Plot]
    notes: Sequence[str] = ()
    """Lines of HTML below the name."""
    section: str = ""
    """Panels of one section begin a new row below its name."""


@dataclass(frozen=True)
class Layout:
    """Places of panels, from the upper left corner of what stands below the caption."""

    corners: list[tuple[int, int]]
    """Left and top of every panel's plots."""
    outer: list[tuple[bool, bool]]
    """Whether the names of a panel's axes are written: x below the last of a column, y left of the first column."""
    names: list[list[str]]
    """Lines of every panel's name."""
    name_height: int
    heading: int
    """Height of name, notes and the labels above a panel."""
    beside_left: int
    """Left edge of what is beside the panels."""
    right: int
    """Of panels and what is beside them, with the space behind."""
    last_row_bottom: int
    """Of the plots."""
    bottom: int
    """With the axis below."""


def arranged(
    panels: Sequence[Panel], *, columns: int, one_row: bool = False, beside: int = 0, room: int = WIDEST
) -> Layout:
    """Panels in as few rows as `columns` and `room` allow, these rows in as few columns as they need.

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
    room -= left + width + _RIGHT + (beside + 18 if beside else 0)
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
    """Of the letters of a panel's name: smaller below the name of a section."""
    return MEDIUM if panel.section else LARGE


class Canvas:
    """A plotly figure of a size in pixels, places counted from its top left corner.

    Attributes:
        width: In pixels.
        height: In pixels.
        traces: Its traces.
        layout: Its layout. plotly checks both once, in `figure`: trace by trace and text by text takes several times as
            long.
    """

    def __init__(self, width: int, height: int, *, title: str | None = None, grey: bool = False) -> None:
        """Make it; `title` stands at the top left, `grey` panels show where nothing is drawn on them."""
        self.width, self.height = width, height
        self.traces: list[Any] = []
        self._n_axes = 0
        self._first_alike = dict[tuple[Any, ...], str]()
        self.layout: dict[str, Any] = {
            "template": "none",
            "width": width,
            "height": height,
            # An invisible margin of 0 and no automatic growth: pixel places stay where they were computed.
            "margin": {"l": 0, "r": 0, "t": 0, "b": 0, "autoexpand": False},
            "font": {"family": "Arial, Helvetica, sans-serif", "size": MEDIUM, "color": TEXT},
            "paper_bgcolor": BACKGROUND,
            "plot_bgcolor": NO_VALUE if grey else BACKGROUND,
            "modebar": {"orientation": "h", "remove": ["select2d", "lasso2d", "autoScale2d", "sendChartToCloud"]},
            "hoverlabel": {"bgcolor": BACKGROUND, "bordercolor": OUTLINE, "font": {"color": TEXT}, "align": "left"},
            "annotations": [],
        }
        if title is not None:
            x, y = self.at(EDGE, _TITLE_TOP)
            place = {"x": x, "xanchor": "left", "y": y, "yanchor": "top"}
            self.layout["title"] = {"text": title, "font": {"size": TITLE}, **place}

    def figure(self) -> go.Figure:
        """The figure with what has been drawn so far."""
        return go.Figure(self.traces, self.layout)

    def at(self, left: int, top: int) -> tuple[float, float]:
        """Paper x and y (0 to 1, from the bottom left) of a place in pixels."""
        return left / self.width, 1 - top / self.height

    def add_axes(
        self,
        corner: tuple[int, int],
        size: tuple[int, int],
        *,
        x: Axis,
        y: Axis | Scale,
        named: tuple[bool, bool] = (True, True),
    ) -> dict[str, str]:
        """Add two axes, named or not, over a rectangle; returns the trace keywords `xaxis` and `yaxis`."""
        self._n_axes += 1
        number = "" if self._n_axes == 1 else str(self._n_axes)
        (left, top), (right, bottom) = self.at(*corner), self.at(corner[0] + size[0], corner[1] + size[1])
        across = x.layout(named=named[0]) | self._link("x", x, number)
        upwards = y.layout(named=named[1]) | self._link("y", y, number)
        self.layout[f"xaxis{number}"] = across | {"domain": [left, right], "anchor": f"y{number}"}
        self.layout[f"yaxis{number}"] = upwards | {"domain": [bottom, top], "anchor": f"x{number}"}
        return {"xaxis": f"x{number}", "yaxis": f"y{number}"}

    def _link(self, side: str, axis: Axis | Scale, number: str) -> dict[str, str]:
        """Axes over the same cells show the same part of them, however one zooms."""
        if isinstance(axis, Scale):
            return {}
        alike = side, axis.column, axis.n, axis.first, tuple(axis.labels)
        first = self._first_alike.setdefault(alike, f"{side}{number}")
        return {} if first == f"{side}{number}" else {"matches": first}

    def choose(self, views: Mapping[str, Sequence[bool]], *, at: tuple[int, int]) -> None:
        """Buttons that show some of the first traces; a menu where they take more room than there is."""
        first = next(iter(views.values()))
        for trace, shown in zip(self.traces, first, strict=False):
            trace.visible = shown
        places = list(range(len(first)))
        buttons = [
            {"label": escaped(_label(name)), "method": "restyle", "args": [{"visible": list(shown)}, places]}
            for name, shown in views.items()
        ]
        room = sum(text_width(_label(name)) + 24 for name in views)
        x, y = self.at(*at)
        kind = "buttons" if room <= self.width - 2 * EDGE else "dropdown"
        place = {"x": x, "y": y, "xanchor": "left", "yanchor": "top", "direction": "right", "showactive": True}
        # plotly.js makes the chosen button nearly white on any page, so the others and their texts stay light as well.
        look = {"bgcolor": _BUTTON, "bordercolor": OUTLINE, "font": {"color": _TEXT_ON_BUTTON}}
        menu = place | look | {"type": kind, "buttons": buttons}
        menu["pad"] = dict.fromkeys("lrtb", 0)
        self.layout["updatemenus"] = [menu | ({"direction": "down"} if kind == "dropdown" else {})]

    def write(
        self, text: str, *, at: tuple[int, int], size: int = MEDIUM, anchor: str = "left", quiet: bool = False
    ) -> None:
        """Write one line of HTML whose top (left, centre or right) is at that place."""
        x, y = self.at(*at)
        font = {"size": size, "color": QUIET_TEXT if quiet else TEXT}
        place = {"x": x, "y": y, "xref": "paper", "yref": "paper", "xanchor": anchor, "yanchor": "top"}
        note = {"text": text, "showarrow": False, "align": "left", "borderpad": 0, "font": font}
        self.layout["annotations"].append(place | note)


def _label(view: str) -> str:
    return shortened(view, most=24)
