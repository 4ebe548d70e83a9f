"""Figures in pixels, of which `interactive` makes plotly figures and `static` pictures without a browser."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from headcats.figures.panels.text import MEDIUM

TITLE_TOP = 12
"""Pixels above the title."""


@dataclass(frozen=True)
class Text:
    """Line of HTML, placed by its top."""

    html: str
    size: int = MEDIUM
    anchor: str = "left"
    """Part of it that is at its place: "left" or "center"."""
    quiet: bool = False
    """Whether it stands back."""


@dataclass(frozen=True)
class Placed:
    """Part of a figure and its upper left corner."""

    part: Any
    """A `Plot`, `Text`, `Legend` or `ColourScale`."""
    at: tuple[int, int]
    length: int = 0
    """Of the bar of a colour scale."""
    named: tuple[bool, bool] = (True, True)
    """Whether the x and the y axis of a plot have their names."""


@dataclass(frozen=True)
class Drawing:
    """All parts of a figure, the first ones lowest; places are pixels from its upper left corner."""

    width: int
    height: int
    title: str | None
    """As HTML."""
    parts: Sequence[Placed]
    grey: bool = False
    """Whether plots are grey where nothing is drawn on them."""
    views: Mapping[str, Sequence[bool]] = field(default_factory=dict)
    """As `PanelGrid` has them."""
    buttons_top: int = 0
    """Where the buttons of the views begin."""

    def of_kind(self, kind: type) -> Iterable[Placed]:
        """Parts of a kind."""
        return (placed for placed in self.parts if isinstance(placed.part, kind))
