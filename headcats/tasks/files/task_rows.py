"""A task as a file gives it, the rows that it is made of, in about as much memory as the file, and what was dropped."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import UInt32, UInt64

from headcats.base.errors import DataError, unstorable
from headcats.prompts.drop_report import DropReport
from headcats.statistics.random_streams import stream
from headcats.tasks.definition import MakePairs
from headcats.tasks.files.records import Row, Texts

if TYPE_CHECKING:
    import pyarrow as pa

CONTRADICTORY = "same input with another output"
DUPLICATE = "duplicate of an earlier row"
_PER_CHUNK = 8192
_SHOWN = 40


@dataclass(frozen=True, eq=False)
class KeptRows:
    """Rows of texts, in the order of the file."""

    report: DropReport
    """How many rows were kept, and how many dropped for which reason."""
    table: "pa.Table"
    """A column for each text of a row."""
    numbers: UInt32[np.ndarray, " kept"]
    """Numbers of the rows in the file."""
    marks: UInt32[np.ndarray, " kept"]
    """Hashes of their first texts, or of their items."""

    def __len__(self) -> int:
        return len(self.numbers)

    def __iter__(self) -> Iterator[tuple[int, Texts]]:
        """Number and texts of every row."""
        return zip(self.numbers.tolist(), _texts(self.table), strict=True)

    def chosen(self, n: int, *, seed: int) -> list[tuple[int, Texts]]:
        """All rows in the order of the file, with their numbers; `n` of them, as in `shuffled`, if there are more."""
        return list(self) if len(self) <= n else self._first(n, seed)

    def shuffled(self, *, seed: int) -> list[tuple[int, Texts]]:
        """All rows, one of each input (or item) before a second one, in an order that follows from it and the seed.

        Other rows play no part. So tasks that share inputs choose the same ones, and can be each other's distractors.
        """
        return self._first(len(self), seed)

    def _first(self, n: int, seed: int) -> list[tuple[int, Texts]]:
        ranks = self.marks ^ stream(seed, "rows of a file").integers(2**32, dtype=np.uint32)
        ranks = (_turns(self.marks) << np.uint64(32)) | ranks
        last = np.partition(ranks, n - 1)[n - 1]
        candidates = np.flatnonzero(ranks <= last)
        chosen = candidates[np.argsort(ranks[candidates], kind="stable")][:n]
        return list(zip(self.numbers[chosen].tolist(), _texts(self.table.take(chosen)), strict=True))


def _texts(table: "pa.Table") -> Iterator[Texts]:
    for batch in table.to_batches(max_chunksize=_PER_CHUNK):
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def _turns(marks: UInt32[np.ndarray, " row"]) -> UInt64[np.ndarray, " row"]:
    """Number of rows before each that have its mark."""
    order, places = np.argsort(marks, kind="stable"), np.arange(len(marks))
    is_first = np.append(True, marks[order][1:] != marks[order][:-1])
    turns = np.empty(len(marks), np.uint64)
    turns[order] = places - np.maximum.accumulate(np.where(is_first, places, 0))
    return turns


def keep_rows(
    rows: Iterable[Row],
    *,
    file: str,
    place: Callable[[int], str],
    output: int,
    wrong: int | None = None,
    item: int | None = None,
) -> KeptRows:
    """Drop rows without texts, all rows with the same input and another output, and repeated ones.

    The first text of a row is its input; `output`, `wrong` (the wrong output, if there is one) and `item` (by which
    rows are drawn, else the input) are places of others. A DataError if no row is left, or for text that is no Unicode.
    """
    import pyarrow as pa

    report, left = DropReport(), iter(rows)
    # Lists of arrays: one that grows leaves holes in the memory.
    batches, numbers, hashes, items = [], [], [], []
    while block := list(islice(left, _PER_CHUNK)):
        usable = [(number, texts) for number, texts in block if not isinstance(texts, str)]
        for number, reason in block:
            if isinstance(reason, str):
                report.drop(reason, place(number))
        for number, texts in usable:
            _check_text(texts, number, place)
        if usable:
            columns = list(zip(*(texts for _, texts in usable), strict=True))
            batches.append(
                pa.RecordBatch.from_arrays(list(map(_texts_of, columns)), list(map(str, range(len(columns)))))
            )
            numbers.append(np.array([number for number, _ in usable], np.uint32))
            hashes.append(_hashes(columns[0]))
            items.append(hashes[-1] if item is None else _hashes(columns[item]))
    if not batches:
        raise _nothing_left(file, report)
    table, places = pa.Table.from_batches(batches), np.concatenate(numbers)
    marks = (np.concatenate(items) >> np.uint64(32)).astype(np.uint32)
    keep = np.ones(len(table), dtype=bool)
    for reason, repeated in _repeated(table, np.concatenate(hashes), output=output, wrong=wrong).items():
        (first,) = _texts(table.slice(repeated[0], 1))
        report.dropped[reason] = len(repeated)
        report.examples[reason] = f"{place(int(places[repeated[0]]))}: {' -> '.join(map(_shown, first))}"
        keep[repeated] = False
    report.kept = int(keep.sum())
    if not report.kept:
        raise _nothing_left(file, report)
    return KeptRows(report, table if keep.all() else table.filter(keep), places[keep], marks[keep])


def _texts_of(column: Sequence[str]) -> "pa.Array":
    """Texts in as many bytes as they have: pyarrow itself keeps up to twice as many."""
    import pyarrow as pa

    encoded = [text.encode("utf-8") for text in column]
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int32)
    return pa.StringArray.from_buffers(len(encoded), pa.py_buffer(ends), pa.py_buffer(b"".join(encoded)))


def _repeated(
    table: "pa.Table", inputs: UInt64[np.ndarray, " row"], *, output: int, wrong: int | None
) -> dict[str, list[int]]:
    """Reason -> rows to drop: all of an input with two outputs, and otherwise those like an earlier row.

    With wrong outputs, two outputs of an input contradict each other only if one is wrong elsewhere: the same prompt
    with another pair of answers is another row. `inputs` are hashes: only rows that share one are read and compared.
    """
    import pandas as pd

    shared = np.flatnonzero(pd.Series(inputs).duplicated(keep=False))
    by_input: dict[str, list[tuple[int, Texts]]] = {}
    for row, texts in zip(shared.tolist(), _texts(table.take(shared)), strict=True):
        by_input.setdefault(texts[0], []).append((row, texts))
    repeated: dict[str, list[int]] = {CONTRADICTORY: [], DUPLICATE: []}
    for rows in by_input.values():
        outputs = {texts[output] for _, texts in rows}
        if len(outputs) > 1 if wrong is None else outputs & {texts[wrong] for _, texts in rows}:
            repeated[CONTRADICTORY] += [row for row, _ in rows]
            continue
        first: dict[Texts, int] = {}
        repeated[DUPLICATE] += [row for row, texts in rows if first.setdefault(texts, row) != row]
    return {reason: sorted(rows) for reason, rows in repeated.items() if rows}


def _nothing_left(file: str, report: DropReport) -> DataError:
    return DataError(f"{file} holds no usable row: {report.summary()}. Correct its rows, or remove the file.")


def _hashes(texts: Iterable[str]) -> UInt64[np.ndarray, " row"]:
    digests = (hashlib.blake2b(text.encode("utf-8"), digest_size=8).digest() for text in texts)
    return np.frombuffer(b"".join(digests), np.uint64)


def _shown(text: str) -> str:
    """A text, of a long one its end."""
    return repr(text if len(text) <= _SHOWN else f"…{text[-_SHOWN:]}")


def _check_text(texts: Texts, number: int, place: Callable[[int], str]) -> None:
    for text in texts:
        if problem := unstorable(text):
            raise DataError(f"{place(number)}: expected text; got {_shown(text)}, {problem}. Write the row again.")


@dataclass(frozen=True)
class FileTask:
    """The task of a file."""

    layout: str
    """Content of the file, for the source of the task."""
    make: MakePairs = field(repr=False)
    report: DropReport
    category: str = ""
    """Category that the file itself names."""
    group: str = ""
    """Name of the independent source that the file itself names."""
