"""Rows with named columns, whatever the format of the file: their cells as text, and which column means what."""

import logging
import reprlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from headcats.base.errors import DataError
from headcats.tasks.files.content import UnclearColumnsError

_log = logging.getLogger("headcats")
Texts = tuple[str, ...]
Row = tuple[int, Texts | str]
"""Number of a row, and its texts or the reason why it is dropped."""
EMPTY = "empty row"
ABSENT = object()
"""A cell that a record lacks."""

# The first name is preferred where several are there; the order of the others says nothing.
INPUT = ("input", "x", "source", "question", "prompt", "subject", "word")
# Of last resort: it may be anything beside the input.
TEXT = "text"
OUTPUT = ("output", "y", "target", "answer", "completion", "object")
CLEAN = ("clean", "clean_prompt", "prompt")
CORRUPTED = ("corrupted", "corrupt", "corrupted_prompt", "corrupt_prompt", "counterfactual")
ANSWER = ("answer", "answers", "correct", "correct_answer", "clean_answer", "clean_label", "label", "target")
WRONG = (
    "wrong", "distractor", "wrong_answer", "wrong_answers", "incorrect", "incorrect_answer", "corrupted_answer",
    "corrupt_answer", "corrupted_label", "counterfactual_answer",
)  # fmt: skip
ITEM = ("item",)
GROUP = "group"
OPTIONAL = ("corrupted", "wrong", "item", "template")
"""Texts that a finished prompt may lack."""


@dataclass(frozen=True)
class Records:
    """Rows of a file that are read one by one."""

    file: str
    """Name of the file, for messages."""
    columns: tuple[str, ...]
    read: Callable[[], Iterator[tuple[int, Sequence[Any]]]]
    """Number of each row, and its cells in the order of the columns; no cell at all for an empty row."""
    unit: str = "record"
    """What the number of a row counts: "line" or "record"."""
    optional: Collection[str] = ()
    """Columns whose cells may be empty."""

    def place(self, number: int) -> str:
        """`pairs.csv, line 7`."""
        return f"{self.file}, {self.unit} {number}"

    def texts(self, names: Sequence[str], *, strip: bool, several: Collection[str] = ()) -> Iterator[Row]:
        """Cells of some columns as text: text, a whole number where every row has one, or a list of one text.

        Of longer lists the first text is taken in the columns `several`. Any other cell is a DataError.
        """
        columns = {name: self.columns.index(name) for name in names}
        kinds: dict[str, type] = {}  # of the first cell of each column
        for number, cells in self.read():
            texts: list[str] = []
            reason = "" if cells else EMPTY
            for name, column in columns.items() if cells else ():
                value = cells[column]
                if value is ABSENT:
                    raise DataError(absent(self.place(number), name))
                if type(value) is list and all(type(text) is str for text in value):
                    if len(value) > 1 and name not in several:
                        reason = f"several values in column {name!r}"
                        break
                    value = value[0] if value else None
                if value is not None and (
                    type(value) not in (str, int) or kinds.setdefault(name, type(value)) is not type(value)
                ):
                    raise self._refusal(number, name, value)
                text = "" if value is None else str(value)
                if not text.strip() and name not in self.optional:
                    reason = f"nothing in column {name!r}"
                    break
                texts.append(text.strip() if strip else text)
            yield number, reason or tuple(texts)

    def group(self) -> str:
        """The one name in the column `group`; "" without such a column, a DataError for several names."""
        names = by_meaning(self.columns, file=self.file)
        if GROUP not in names:
            note_misspelt_group(self.columns, file=self.file)
            return ""
        place, first = self.columns.index(names[GROUP]), ""
        for number, cells in self.read():
            cell = cells[place] if cells else None
            name = "" if cell is None or cell is ABSENT else str(cell).strip()
            if name and first not in ("", name):
                raise DataError(
                    f"{self.place(number)}: expected {first!r:.40} in column {names[GROUP]!r}, as before; got "
                    f"{name!r:.40}. A task belongs to one group: write a file for each, or rename the column."
                )
            first = first or name
        return first

    def _refusal(self, number: int, name: str, value: Any) -> DataError:
        place, shown = self.place(number), reprlib.repr(value)
        if type(value) in (str, int):
            kinds = "a number, and other rows text" if type(value) is int else "text, and other rows numbers"
            return DataError(f"{place}: column {name!r} holds {kinds}; write all of them as text: got {shown}.")
        message = f"{place}: column {name!r} must hold text, or whole numbers in every row; got {shown}."
        return UnclearColumnsError(message)


def note_misspelt_group(names: Iterable[str], *, file: str) -> None:
    """Warn of a name that is nearly `group`, without which tasks would count as independent."""
    written = {str(name).strip().casefold(): name for name in names}
    for name in get_close_matches(GROUP, written, n=1, cutoff=0.75):
        _log.warning("%s: %r is not read; the group of a task is named %r.", file, written[name], GROUP)


def absent(place: str, name: str) -> str:
    """The message on a cell that a record lacks."""
    return f"{place}: field {name!r} is missing, which the first record has; add it."


def meaning(column: object) -> str:
    """A name without case and surrounding space, with underscores for the spaces in it."""
    return str(column).strip().casefold().replace(" ", "_")


def by_meaning(columns: Sequence[str], *, file: str) -> dict[str, str]:
    """Name without case and surrounding space -> name in the file; a DataError for a column that is there twice."""
    names: dict[str, str] = {}
    for column in columns:
        bare = meaning(column)
        if bare in names and bare:
            raise DataError(f"{file} has the column {bare!r:.60} twice: rename or remove one of them.")
        names[bare] = column
    return names


def find(names: Mapping[str, str], synonyms: Sequence[str], *, file: str) -> str | None:
    """The column with one of these meanings; None without any, a DataError if several could be it."""
    candidates = [name for name in synonyms if name in names]
    if len(candidates) > 1 and candidates[0] != synonyms[0]:
        raise UnclearColumnsError(
            f"{file}: the columns {' and '.join(map(repr, candidates))} could each be the {synonyms[0]!r}."
        )
    return names[candidates[0]] if candidates else None
