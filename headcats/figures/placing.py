"""Panels in rows and columns, and lines of text that fit above them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from headcats.figures.axes import Canvas, Panel, add_text, new_figure
from headcats.figures.colours import NO_VALUE

LETTER = 6.6
"""Widest average letter of Arial at 12 pixels."""
LINE = 18
"""Height of a line of text at 12 pixels."""
WIDEST = 1380
"""Pixels that a figure may be wide before its panels go to another row, or shrink: fits a window 1400 pixels wide."""
EDGE = 16
"""Pixels left and right of titles and captions."""
BETWEEN = "&nbsp;&nbsp;&nbsp;"


@dataclass(frozen=True)
class Spot:
    """One of several panels."""

    panel: Panel
    outer: tuple[bool, bool]
    """Whether the axis names belong here: x below the last panel of a column, y left of the first column."""


def even_columns(n: int, *, at_most: int) -> int:
    """Columns for `n` panels: as few rows as `at_most` allows, then as few columns as these rows need.

    No panel is left alone on a row: 5 panels in at most 4 columns stand as 3 + 2.
    """
    return math.ceil(n / math.ceil(n / max(1, at_most)))


def in_rows(n: int, *, columns: int, size: tuple[int, int], step: tuple[int, int], at: tuple[int, int]) -> list[Spot]:
    """Places of `n` panels of `size`, row by row, `step` pixels apart, the first one's upper left corner at `at`."""
    spots = []
    for i in range(n):
        row, column = divmod(i, columns)
        panel = Panel(left=at[0] + column * step[0], top=at[1] + row * step[1], width=size[0], height=size[1])
        spots.append(Spot(panel, outer=(i + columns >= n, column == 0)))
    return spots


def folded(parts: Sequence[str], *, width: int) -> list[str]:
    """Parts of a caption on as few lines of `width` pixels as hold them; long parts are folded at spaces."""
    letters = max(20, int(width / LETTER))
    lines: list[list[str]] = []
    for part in parts:
        for piece in _pieces(part, letters):
            if lines and sum(map(len, lines[-1])) + 3 * len(lines[-1]) + len(piece) <= letters:
                lines[-1].append(piece)
            else:
                lines.append([piece])
    return [BETWEEN.join(line) for line in lines]


def folded_name(name: str, *, width: int) -> list[str]:
    """The name of a panel on as few lines of `width` pixels as hold it at 14 pixels; a word is never broken."""
    return _pieces(name, max(1, int(width / (LETTER * 14 / 12))))


def below_title(title: str | None) -> int:
    """Pixels above the first line of a caption."""
    return 14 + (28 if title else 0)


def below_caption(title: str | None, lines: Sequence[str]) -> int:
    """Pixels above what follows a title and the lines of a caption."""
    return below_title(title) + LINE * len(lines) + 8


def add_caption(fig: go.Figure, lines: Sequence[str], *, canvas: Canvas, title: str | None) -> None:
    """Write the lines of a caption at the left, below the title."""
    for i, line in enumerate(lines):
        add_text(fig, line, canvas=canvas, at=(EDGE, below_title(title) + LINE * i), quiet=True)


def captioned_figure(canvas: Canvas, *, title: str | None, lines: Sequence[str]) -> go.Figure:
    """An empty figure with title and caption, its panels grey where nothing is drawn on them."""
    fig = new_figure(canvas, title=title)
    fig.update_layout(plot_bgcolor=NO_VALUE)
    add_caption(fig, lines, canvas=canvas, title=title)
    return fig


def title_width(title: str | None) -> int:
    """Pixels that a figure needs for its title, as far as it may grow for it."""
    return min(WIDEST, 2 * EDGE + math.ceil(8.2 * len(title or "")))


def _pieces(text: str, letters: int) -> list[str]:
    pieces = [""]
    for word in text.split(" "):
        if pieces[-1] and len(pieces[-1]) + 1 + len(word) > letters:
            pieces.append(word)
        else:
            pieces[-1] = f"{pieces[-1]} {word}".strip()
    return pieces
