"""The rows of a file that a task is made of, held compactly, and what was dropped.

A file is read twice: first 16 bytes a row are noted, which tell duplicates and contradictions; then the rows to keep
are held as an Arrow table, which takes about as much memory as their text.
"""

import hashlib
import zlib
from array import array
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from jaxtyping import Int64, UInt8, UInt32, UInt64

from headcats.errors import DataError
from headcats.prompts.drop_report import DropReport
from headcats.statistics.random_streams import stream
from headcats.tasks.files.records import Texts

Rows = Iterable[tuple[int, Texts | str]]
"""Number of a row, and its texts or the reason why it is dropped."""
CONTRADICTORY = "same input with another output"
DUPLICATE = "duplicate of an earlier row"
_REASONS = ("", CONTRADICTORY, DUPLICATE)
_PER_CHUNK = 16384
_LARGE, _PARTS = 100_000, 16


@dataclass(frozen=True, eq=False)
class KeptRows:
    """Rows of texts.

    Attributes:
        report: How many rows were kept, and how many dropped for which reason.
        table: Their texts, an Arrow table.
        numbers: Their numbers in the file.
        marks: A hash of each row's first text.
    """

    report: DropReport
    table: Any
    numbers: Int64[np.ndarray, " row"]
    marks: UInt64[np.ndarray, " row"]

    def __len__(self) -> int:
        return len(self.numbers)

    def chosen(self, n: int, *, seed: int) -> list[tuple[int, Texts]]:
        """All rows in the order of the file, with their numbers; `n` of them, as in `shuffled`, if there are more."""
        return self._take(np.arange(len(self)) if len(self) <= n else self._order(seed)[:n])

    def shuffled(self, *, seed: int) -> list[tuple[int, Texts]]:
        """All rows in an order that follows from the seed and each row's first text, not from the other rows.

        So tasks that share inputs choose the same ones, and can be each other's distractors.
        """
        return self._take(self._order(seed))

    def _order(self, seed: int) -> Int64[np.ndarray, " row"]:
        return np.argsort(self.marks ^ stream(seed, "rows of a file").integers(2**64, dtype=np.uint64), kind="stable")

    def _take(self, rows: Int64[np.ndarray, " chosen"]) -> list[tuple[int, Texts]]:
        columns = [column.to_pylist() for column in self.table.take(rows).columns]
        return list(zip(self.numbers[rows].tolist(), zip(*columns, strict=True), strict=True))


def keep_rows(read: Callable[[], Rows], *, file: str, place: Callable[[int], str], output: int) -> KeptRows:
    """Read rows twice; drop those without texts, all with the same input and another output, and repeated ones.

    Args:
        read: The rows; their first text is the input, and all have as many texts.
        file: Name of the file, for messages.
        place: Number of a row -> its place in messages.
        output: Which of the texts is the output.

    Raises:
        DataError: No row is left, or text that is not valid Unicode.
    """
    import pyarrow as pa

    n_rows, marks, verdicts = _first_pass(read(), place=place, output=output)
    report, numbers, chunks = DropReport(), array("q"), []
    kept = _kept(read(), verdicts, report, place)
    while rows := list(islice(kept, _PER_CHUNK)):
        numbers.extend(number for number, _ in rows)
        columns = zip(*(texts for _, texts in rows), strict=True)
        chunks.append(pa.table({str(index): pa.array(column, pa.string()) for index, column in enumerate(columns)}))
    report.kept = len(numbers)
    assert report.kept + sum(report.dropped.values()) == n_rows
    if not chunks:
        raise DataError(f"{file} holds no usable row: {report.summary()}.")
    return KeptRows(report, pa.concat_tables(chunks), np.frombuffer(numbers, np.int64), marks[verdicts == 0])


def _kept(
    rows: Rows, verdicts: UInt8[np.ndarray, " row"], report: DropReport, place: Callable[[int], str]
) -> Iterator[tuple[int, Texts]]:
    verdict = iter(verdicts)
    for number, texts in rows:
        if isinstance(texts, str):
            report.drop(texts, place(number))
        elif reason := _REASONS[next(verdict)]:
            report.drop(reason, f"{place(number)}: {' -> '.join(f'{text!r:.40}' for text in texts)}")
        else:
            yield number, texts


def _first_pass(
    rows: Rows, *, place: Callable[[int], str], output: int
) -> tuple[int, UInt64[np.ndarray, " row"], UInt8[np.ndarray, " row"]]:
    """How many rows there are, and of those with texts the mark of the input and the verdict."""
    n_rows, marks, outputs, wholes = 0, array("Q"), array("I"), array("I")
    for number, texts in rows:
        n_rows += 1
        if isinstance(texts, str):
            continue
        try:
            encoded = [text.encode("utf-8") for text in texts]
        except UnicodeEncodeError:
            raise DataError(f"{place(number)}: half of a surrogate pair is not text; write the row again.") from None
        marks.append(int.from_bytes(hashlib.blake2b(encoded[0], digest_size=8).digest(), "little"))
        outputs.append(zlib.crc32(encoded[output]))
        wholes.append(zlib.crc32(b"\0".join(encoded[1:])))
    inputs = np.frombuffer(marks, np.uint64)
    return n_rows, inputs, _verdicts(inputs, np.frombuffer(outputs, np.uint32), np.frombuffer(wholes, np.uint32))


def _verdicts(
    inputs: UInt64[np.ndarray, " row"], outputs: UInt32[np.ndarray, " row"], wholes: UInt32[np.ndarray, " row"]
) -> UInt8[np.ndarray, " row"]:
    """Index of each row's reason: "" for those to keep. Rows of one input are compared, a part of the inputs at a time.

    Two inputs of ten million share a hash with a probability of 3e-6.
    """
    verdicts = np.zeros(len(inputs), dtype=np.uint8)
    parts = _PARTS if len(inputs) > _LARGE else 1
    for part in range(parts):
        rows = np.flatnonzero(inputs.view(np.uint8)[:: inputs.itemsize] % parts == part)
        if not len(rows):
            continue
        rows = rows[np.lexsort((rows, wholes[rows], inputs[rows]))]
        new_input = np.append(True, inputs[rows][1:] != inputs[rows][:-1])
        new_row = new_input | np.append(True, wholes[rows][1:] != wholes[rows][:-1])
        group = np.cumsum(new_input) - 1
        contradicted = np.zeros(group[-1] + 1, dtype=bool)
        contradicted[group[outputs[rows] != outputs[rows[new_input]][group]]] = True
        verdicts[rows[~new_row]] = _REASONS.index(DUPLICATE)
        verdicts[rows[contradicted[group]]] = _REASONS.index(CONTRADICTORY)
    return verdicts
