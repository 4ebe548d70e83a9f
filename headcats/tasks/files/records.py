"""Rows with named columns, whatever the format of the file, and their cells as text."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from headcats.base.errors import DataError
from headcats.tasks.files.packed_texts import Texts

EMPTY = "empty row"
ABSENT = object()
"""A cell that a record lacks."""
_AT_ONCE = 4096


def absent(place: str, name: str) -> str:
    """The message on a cell that a record lacks."""
    return f"{place}: field {name!r} is missing, which the first record has; add it."


@dataclass(frozen=True)
class Records:
    """Rows that are read one by one.

    Attributes:
        file: Name of the file, for messages.
        columns: Names of the columns.
        read: The rows from the first to the last: the number of the row, and its cells in the order of the columns; no
            cell at all for an empty row.
        unit: What the number of a row counts: "line" or "record".
    """

    file: str
    columns: tuple[str, ...]
    read: Callable[[], Iterator[tuple[int, Sequence[Any]]]]
    unit: str = "record"

    def place(self, number: int) -> str:
        """`pairs.csv, line 7`."""
        return f"{self.file}, {self.unit} {number}"

    def texts(
        self, names: Sequence[str], *, strip: bool, several: Collection[str] = ()
    ) -> Iterator[tuple[int, Texts | str]]:
        """The cells of some columns as text; instead of them a reason for a row that has to be dropped.

        Whole numbers become text where every row has one, and a list of one text that text. Of a longer list the first
        text is taken in the columns `several`; elsewhere the row is dropped.
        """
        columns = {name: self.columns.index(name) for name in names}
        cells = _Cells(self.place, columns, strip=strip, several=several)
        rows = self.read()
        while block := list(islice(rows, _AT_ONCE)):
            yield from cells.texts(block)


@dataclass
class _Cells:
    place: Callable[[int], str]
    columns: dict[str, int]
    strip: bool
    several: Collection[str]
    kinds: dict[str, type] = field(default_factory=dict)
    """Column -> type of its first cell."""

    def texts(self, block: list[tuple[int, Sequence[Any]]]) -> Iterator[tuple[int, Texts | str]]:
        usual = self._of_text_alone(block)
        if usual is not None:
            return zip((number for number, _ in block), usual, strict=True)
        return ((number, self._row(number, cells)) for number, cells in block)

    def _of_text_alone(self, block: list[tuple[int, Sequence[Any]]]) -> Iterator[Texts] | None:
        """The texts of rows that all have one in each column, which is most files; row by row takes thrice as long."""
        if not all(cells for _, cells in block):
            return None
        columns: list[list[str]] = []
        for name, index in self.columns.items():
            column = [cells[index] for _, cells in block]
            if set(map(type, column)) != {str} or self.kinds.setdefault(name, str) is not str:
                return None
            stripped = list(map(str.strip, column))
            if not all(stripped):
                return None
            columns.append(stripped if self.strip else column)
        return zip(*columns, strict=True)

    def _row(self, number: int, cells: Sequence[Any]) -> Texts | str:
        if not cells:
            return EMPTY
        texts = []
        for name, index in self.columns.items():
            value = cells[index]
            if value is ABSENT:
                raise DataError(absent(self.place(number), name))
            if type(value) is list and all(type(text) is str for text in value):
                if len(value) > 1 and name not in self.several:
                    return f"several values in column {name!r}"
                value = value[0] if value else None
            if value is None:
                value = ""
            elif type(value) not in (str, int) or self.kinds.setdefault(name, type(value)) is not type(value):
                raise DataError(self._refusal(number, name, value))
            text = str(value).strip() if self.strip else str(value)
            if not text.strip():
                return f"nothing in column {name!r}"
            texts.append(text)
        return tuple(texts)

    def _refusal(self, number: int, name: str, value: Any) -> str:
        place, shown = self.place(number), f"{value!r:.60}"
        if type(value) in (str, int):
            kinds = "a number, and other rows text" if type(value) is int else "text, and other rows numbers"
            return f"{place}: column {name!r} holds {kinds}; write all of them as text: got {shown}."
        return f"{place}: column {name!r} must hold text, or whole numbers in every row; got {shown}."
