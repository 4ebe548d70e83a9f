"""The legend of a figure: what its colours, hatching and symbols mean."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

from headcats.figures.colours import MARK, OUTLINE
from headcats.figures.panels.letters import with_letter
from headcats.figures.panels.text import MEDIUM, escaped, text_width

_SWATCH = 44  # pixels of a swatch and the spaces around it
_ENTRY = 20


@dataclass(frozen=True)
class Entry:
    """One line of the legend."""

    name: str
    colour: str = MARK
    hatch: str = ""
    """Colour of the lines over its swatch, if any."""
    symbol: str = ""
    """In place of a swatch, as plotly calls it."""
    outlined: bool = False
    """Whether a thin line goes around the swatch."""


@dataclass(frozen=True)
class Legend:
    """Entries from top to bottom."""

    entries: Sequence[Entry]
    letters: Mapping[str, str]
    """Entry -> what is written on its cells, in bold; empty where nothing is."""

    @property
    def size(self) -> tuple[int, int]:
        """Width and height in pixels."""
        return _SWATCH + max(text_width(entry.name) for entry in self.entries), _ENTRY * len(self.entries)

    def add(self, fig: go.Figure, *, at: tuple[float, float]) -> None:
        """Add it to a figure, its upper left corner in shares of the figure."""
        for entry in self.entries:
            letter = self.letters.get(entry.name)
            fig.add_trace(_swatch(entry, with_letter(entry.name, letter) if letter else escaped(entry.name)))
        fig.update_layout(
            legend={
                "x": at[0],
                "y": at[1],
                "xanchor": "left",
                "yanchor": "top",
                "traceorder": "normal",
                "font": {"size": MEDIUM},
                "borderwidth": 0,
                # The entries explain colours; nothing would be hidden by clicking them.
                "itemclick": False,
                "itemdoubleclick": False,
            }
        )


def _swatch(entry: Entry, name: str) -> go.Bar | go.Scatter:
    common: dict[str, Any] = {"x": [None], "y": [None], "name": name, "showlegend": True, "hoverinfo": "skip"}
    if entry.symbol:
        return go.Scatter(mode="markers", marker={"symbol": entry.symbol, "size": 9, "color": entry.colour}, **common)
    marker: dict[str, Any] = {"color": entry.colour}
    if entry.outlined:
        marker["line"] = {"color": OUTLINE, "width": 0.5}
    if entry.hatch:
        marker["pattern"] = hatched(entry.colour, entry.hatch)
    return go.Bar(marker=marker, **common)


def hatched(colour: str, lines: str, *, size: int = 5) -> dict[str, Any]:
    """Diagonal lines on a bar or swatch, as plotly's `marker.pattern` takes them."""
    return {"shape": "/", "fgcolor": lines, "bgcolor": colour, "size": size, "solidity": 0.2}
