"""Rows with named columns, whatever the format of the file, and their cells as text."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from headcats.errors import DataError

EMPTY = "empty row"
Texts = tuple[str, ...]


@dataclass(frozen=True)
class Records:
    """Rows that can be read again and again, so that none has to be held.

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

        Raises:
            DataError: A cell that is neither, or a column of both numbers and text; the message names the row.
        """
        chosen = [(self.columns.index(name), name) for name in names]
        kinds: dict[str, type] = {}
        for number, cells in self.read():
            if not cells:
                yield number, EMPTY
                continue
            texts: list[str] = []
            for index, name in chosen:
                value = cells[index]
                if type(value) is list and all(type(text) is str for text in value):
                    if len(value) > 1 and name not in several:
                        yield number, f"several values in column {name!r}"
                        break
                    value = value[0] if value else None
                if value is None:
                    value = ""
                elif kinds.setdefault(name, type(value)) is not type(value) or type(value) not in (str, int):
                    raise DataError(self._refusal(number, name, value, kinds[name]))
                text = str(value).strip() if strip else str(value)
                if not text.strip():
                    yield number, f"nothing in column {name!r}"
                    break
                texts.append(text)
            else:
                yield number, tuple(texts)

    def _refusal(self, number: int, name: str, value: Any, usual: type) -> str:
        shown = f"{value!r:.60}"
        if type(value) in (str, int) and usual in (str, int):
            kinds = "a number, and others text" if type(value) is int else "text, and others numbers"
            return f"{self.place(number)}: column {name!r} holds {kinds}; write all of them as text: got {shown}."
        return f"{self.place(number)}: column {name!r} must hold text, or whole numbers in every row; got {shown}."
