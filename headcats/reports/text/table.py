"""What can be found: a table, a sentence on it, a paragraph of its own, or a note that something is missing."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True)
class Table:
    r"""Texts in rows and columns.

    Attributes:
        title: What it shows; "" where the sentence before says it.
        columns: Heads of the columns; several may be "".
        rows: Cells as they are shown, as many in every row as there are columns; lines within a cell end with "\n".
        numeric: Columns of numbers, flush right.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: frozenset[str] = frozenset()


def table(title: str, columns: Iterable[str], rows: Iterable[Sequence[str]], *, numeric: Iterable[str] = ()) -> Table:
    """A `Table` of lists.

    Args:
        title: What it shows; "" where the sentence before says it.
        columns: Heads of the columns.
        rows: Cells as they are shown.
        numeric: Columns of numbers.
    """
    return Table(title, tuple(columns), tuple(map(tuple, rows)), frozenset(numeric))


class Paragraph(str):
    """A sentence that begins something new; a plain `str` goes on with what is before it."""

    __slots__ = ()


class Note(str):
    """Something the reader should know before the rest; the command line says it on stderr."""

    __slots__ = ()


# A `str` is one line of plain text, without markup; commands and names in it stand in backticks.
Finding: TypeAlias = Table | Paragraph | Note | str
