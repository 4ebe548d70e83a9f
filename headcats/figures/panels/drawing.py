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
    views: Mapping[str, Sequence[bool]] = field(default_factory=dict)
    """View -> which panels and marks it shows, as in `PanelGrid`."""
    buttons_top: int = 0
    """Top of the buttons of the views."""

    def of_kind(self, kind: type) -> Iterable[Placed]:
        """Parts of a kind."""
        return (placed for placed in self.parts if isinstance(placed.part, kind))
