"""What results say: findings with an identifier and fields, and tables. `str` of a finding is its sentence."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from headcats.reports.text.wording import sentence

Place = Literal["line", "item", "paragraph", "note"]


@dataclass(frozen=True)
class Finding:
    """A statement, as data.

    Attributes:
        id: Names its template in `wording.toml`, such as "map.chance".
        fields: What the template takes: numbers, names, or findings of their own.
        place: A "line" goes on with what is before it, an "item" is one of a list, a "paragraph" begins something new,
            and a "note" should be known before the rest (the command line prints it on stderr).
    """

    id: str
    fields: Mapping[str, Any] = field(default_factory=dict)
    place: Place = "line"

    def __str__(self) -> str:
        """One line of plain text; commands and names in it stand in backticks."""
        return sentence(self.id, self.fields)


@dataclass(frozen=True, kw_only=True)
class Table(Finding):
    r"""Texts in rows and columns; the sentence is its title, "" where the line before is the title.

    Attributes:
        columns: Heads of the columns; several may be "".
        rows: Cells as they are shown, as many in every row as there are columns; lines within a cell end with "\n".
        numeric: Columns of numbers, flush right.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: frozenset[str] = frozenset()

    @property
    def title(self) -> str:
        """What it shows."""
        return str(self)


def line(id: str, /, **fields: Any) -> Finding:
    """A finding that goes on with what is before it."""
    return Finding(id, fields)


def item(id: str, /, **fields: Any) -> Finding:
    """A finding of a list."""
    return Finding(id, fields, "item")


def paragraph(id: str, /, **fields: Any) -> Finding:
    """A finding that begins something new."""
    return Finding(id, fields, "paragraph")


def note(id: str, /, **fields: Any) -> Finding:
    """A finding to know before the rest."""
    return Finding(id, fields, "note")


def table(
    id: str, /, columns: Iterable[str], rows: Iterable[Sequence[str]], *, numeric: Iterable[str] = (), **fields: Any
) -> Table:
    """A table of lists; `fields` are those of its title."""
    return Table(id, fields, columns=tuple(columns), rows=tuple(map(tuple, rows)), numeric=frozenset(numeric))
