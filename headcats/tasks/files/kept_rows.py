"""The rows of a file that a task is made of, held compactly, and what was dropped.

The texts take about as much memory as the file, beside a few bytes a row, which tell duplicates and contradictions.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np
from jaxtyping import UInt32, UInt64

from headcats.base.errors import DataError
from headcats.base.registry import unstorable
from headcats.prompts.drop_report import DropReport
from headcats.statistics.random_streams import stream
from headcats.tasks.files.packed_texts import PackedTexts, Texts
from headcats.tasks.files.repeated_rows import repeated_rows

Rows = Iterable[tuple[int, Texts | str]]
"""Number of a row, and its texts or the reason why it is dropped."""
_PER_CHUNK = 8192
_SHOWN = 40


@dataclass(frozen=True, eq=False)
class KeptRows:
    """Rows of texts.

    Attributes:
        report: How many rows were kept, and how many dropped for which reason.
        texts: The texts of every row that has any.
        rows: Which of them are kept.
        numbers: The numbers of those in the file.
        marks: Hashes of the first texts of those, or of their items.
    """

    report: DropReport
    texts: PackedTexts
    rows: UInt32[np.ndarray, " kept"]
    numbers: UInt32[np.ndarray, " kept"]
    marks: UInt32[np.ndarray, " kept"]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[tuple[int, Texts]]:
        """Number and texts of every row, in the order of the file."""
        return zip(map(int, self.numbers), map(self.texts.__getitem__, map(int, self.rows)), strict=True)

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
        return [(int(self.numbers[place]), self.texts[int(self.rows[place])]) for place in chosen]


def _turns(marks: UInt32[np.ndarray, " row"]) -> UInt64[np.ndarray, " row"]:
    """Number of rows before each that have its mark."""
    order, places = np.argsort(marks, kind="stable"), np.arange(len(marks))
    is_first = np.append(True, marks[order][1:] != marks[order][:-1])
    turns = np.empty(len(marks), np.uint64)
    turns[order] = places - np.maximum.accumulate(np.where(is_first, places, 0))
    return turns


def keep_rows(
    rows: Rows,
    *,
    file: str,
    place: Callable[[int], str],
    output: int,
    wrong: int | None = None,
    item: int | None = None,
) -> KeptRows:
    """Drop rows without texts, all rows with the same input and another output, and repeated ones."""
    n_rows, report, left = 0, DropReport(), iter(rows)
    store = PackedTexts()
    # Lists of arrays: one that grows leaves holes in the memory.
    numbers, hashes, items = [], [], []
    while block := list(islice(left, _PER_CHUNK)):
        n_rows += len(block)
        for number, reason in block:
            if isinstance(reason, str):
                report.drop(reason, place(number))
        if usable := [(number, texts) for number, texts in block if not isinstance(texts, str)]:
            encoded = [_encoded(texts, number, place) for number, texts in usable]
            hashes.append(_hashes(texts[0] for texts in encoded))
            if item is not None:
                items.append(_hashes(texts[item] for texts in encoded))
            numbers.append(np.array([number for number, _ in usable], np.uint32))
            store.append(encoded)
    if not len(store):
        raise DataError(f"{file} holds no usable row: {report.summary()}. Correct its rows, or remove the file.")
    places, inputs = np.concatenate(numbers), np.concatenate(hashes)
    marks = ((np.concatenate(items) if items else inputs) >> np.uint64(32)).astype(np.uint32)
    del numbers, hashes, items
    keep = np.ones(len(store), dtype=bool)
    for reason, repeated in repeated_rows(store, inputs, output=output, wrong=wrong).items():
        shown = " -> ".join(map(_shown, store[int(repeated[0])]))
        report.dropped[reason] = len(repeated)
        report.examples[reason] = f"{place(int(places[repeated[0]]))}: {shown}"
        keep[repeated] = False
    report.kept = int(keep.sum())
    assert report.kept + sum(report.dropped.values()) == n_rows
    if not report.kept:
        raise DataError(f"{file} holds no usable row: {report.summary()}. Correct its rows, or remove the file.")
    return KeptRows(report, store, np.flatnonzero(keep).astype(np.uint32), places[keep], marks[keep])


def _hashes(texts: Iterable[bytes]) -> UInt64[np.ndarray, " row"]:
    return np.frombuffer(b"".join(hashlib.blake2b(text, digest_size=8).digest() for text in texts), np.uint64)


def _shown(text: str) -> str:
    """A text, of a long one its end."""
    return repr(text if len(text) <= _SHOWN else f"…{text[-_SHOWN:]}")


def _encoded(texts: Texts, number: int, place: Callable[[int], str]) -> list[bytes]:
    for text in texts:
        if problem := unstorable(text):
            raise DataError(f"{place(number)}: expected text; got {_shown(text)}, {problem}. Write the row again.")
    return [text.encode("utf-8") for text in texts]
