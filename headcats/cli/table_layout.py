"""How a table is fitted into a terminal: columns are left out by priority or go on below, and no word is broken."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from rich.cells import cell_len

from headcats.cli.wrapping import shortened

BETWEEN = 3
"""Columns of the terminal between two of a table: a line and a space on both sides."""
_LEAST_WORD = 8
Cells: TypeAlias = Literal["folded", "whole"]


@dataclass(frozen=True)
class Layout:
    """A table as it fits.

    Attributes:
        texts: Column -> its texts, the heading first; a word that no line has room for lacks its middle.
        blocks: Column and its width, block by block; each begins with the first column.
        left_out: Columns without room.
        constant: Columns without room whose cells all say the same.
    """

    texts: list[list[str]]
    blocks: list[list[tuple[int, int]]]
    left_out: list[int]
    constant: list[int]


def fitted(
    columns: Sequence[Sequence[str]], *, room: int, optional: Sequence[int] = (), cells: Cells = "folded"
) -> Layout:
    """Fit columns into so many of a terminal.

    Where not all fit on one line each, columns that say the same in every row go first; where not even the longest
    words fit beside each other, the optional ones do, in their order. What does not fit after that goes on below.

    Args:
        columns: Texts of every column, its heading first.
        room: Columns of the terminal.
        optional: Columns that may be left out, the first of them first.
        cells: "folded" between words, or "whole", on one line each, below headings that are folded.
    """
    texts = _with_short_words([list(column) for column in columns], room)
    widest = [max(map(cell_len, lines)) for lines in map(_lines, texts)]
    least = [longest_piece(column, cells=cells) for column in texts]
    shown, left_out, constant = list(range(len(texts))), list[int](), list[int]()
    for column in _constant(texts):
        if _taken(widest, shown) > room:
            shown.remove(column)
            constant.append(column)
    for column in optional:
        if _taken(least, shown) > room and column in shown:
            shown.remove(column)
            left_out.append(column)
    blocks = [[*zip(part, _widths(widest, least, part, room), strict=True)] for part in _parts(least, shown, room)]
    if cells == "whole" and any(_taken(least, part) > room for part in _parts(least, shown, room)):
        return fitted(columns, room=room, optional=optional)
    return Layout(texts, blocks, left_out, constant)


def longest_piece(column: Sequence[str], *, cells: Cells) -> int:
    """The narrowest that a column can be."""
    pieces = [word for text in (column[:1] if cells == "whole" else column) for word in text.split()]
    return max(map(cell_len, [*pieces, *_lines(column[1:] if cells == "whole" else ())]), default=0)


def _lines(texts: Sequence[str]) -> list[str]:
    return [line for text in texts for line in text.splitlines() or [""]]


def _taken(widths: Sequence[int], columns: Sequence[int]) -> int:
    return sum(widths[column] for column in columns) + BETWEEN * (len(columns) - 1)


def _with_short_words(texts: list[list[str]], room: int) -> list[list[str]]:
    """Texts whose words leave room for the first column beside any other."""
    longest = [longest_piece(column, cells="folded") for column in texts]
    first, other = longest[0], max(longest[1:], default=0)
    space = max(room - BETWEEN * (len(texts) > 1), 2 * _LEAST_WORD)
    if first + other <= space:
        return texts
    half = space // 2
    of_first = min(first, max(half, space - other))
    return [
        [_short(text, space - of_first if place else of_first) for text in column]
        for place, column in enumerate(texts)
    ]  # fmt: skip


def _short(text: str, width: int) -> str:
    if all(cell_len(word) <= width for word in text.split()):
        return text
    return "\n".join(" ".join(shortened(word, width) for word in line.split()) for line in text.splitlines())


def _parts(least: Sequence[int], shown: Sequence[int], room: int) -> list[list[int]]:
    """Columns block by block, as many in each as have room for their longest words."""
    first, *others = shown
    parts = [[first]]
    for column in others:
        if _taken(least, [*parts[-1], column]) > room and len(parts[-1]) > 1:
            parts.append([first])
        parts[-1].append(column)
    return parts


def _widths(widest: Sequence[int], least: Sequence[int], columns: Sequence[int], room: int) -> list[int]:
    """Widths with which the columns fit, none below its longest word; the widest ones give way."""
    widths = {column: widest[column] for column in columns}
    for _ in range(_taken(widest, columns) - room):
        column = max(columns, key=lambda column: (widths[column] - least[column], widths[column]))
        widths[column] -= widths[column] > least[column]
    return list(widths.values())


def _constant(texts: Sequence[Sequence[str]]) -> list[int]:
    """Columns behind the first that say the same in each of several rows."""
    return [place for place, (_, *cells) in enumerate(texts) if place and len(cells) > 1 and len({*cells}) == 1]
