"""The rows of a file that a task is made of, and what was dropped."""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import UInt32, UInt64

from headcats.base.errors import DataError, unstorable
from headcats.prompts.drop_report import DropReport
from headcats.statistics.random_streams import stream
from headcats.tasks.files.records import Row, Texts

CONTRADICTORY = "same input with another output"
DUPLICATE = "duplicate of an earlier row"
_SHOWN = 40


@dataclass(frozen=True, eq=False)
class KeptRows:
    """Rows of texts, in the order of the file."""

    report: DropReport
    """How many rows were kept, and how many dropped for which reason."""
    rows: list[tuple[int, Texts]]
    """Number in the file, and texts."""
    marks: UInt32[np.ndarray, " kept"]
    """Hashes of their first texts, or of their items."""

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[tuple[int, Texts]]:
        """Number and texts of every row."""
        return iter(self.rows)

    def chosen(self, n: int, *, seed: int) -> list[tuple[int, Texts]]:
        """All rows in the order of the file, with their numbers; `n` of them, as in `shuffled`, if there are more."""
        return list(self.rows) if len(self) <= n else self.shuffled(seed=seed)[:n]

    def shuffled(self, *, seed: int) -> list[tuple[int, Texts]]:
        """All rows, one of each input (or item) before a second one, in an order that follows from it and the seed.

        Other rows play no part. So tasks that share inputs choose the same ones, and can be each other's distractors.
        """
        ranks = self.marks ^ stream(seed, "rows of a file").integers(2**32, dtype=np.uint32)
        ranks = (_turns(self.marks) << np.uint64(32)) | ranks
        return [self.rows[row] for row in np.argsort(ranks, kind="stable")]


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
    report, usable = DropReport(), list[tuple[int, Texts]]()
    for number, texts in rows:
        if isinstance(texts, str):
            report.drop(texts, place(number))
        else:
            _check_text(texts, number, place)
            usable.append((number, texts))
    repeated = _repeated(usable, output=output, wrong=wrong)
    for reason, numbers in repeated.items():
        first = usable[numbers[0]]
        report.dropped[reason] = len(numbers)
        report.examples[reason] = f"{place(first[0])}: {' -> '.join(map(_shown, first[1]))}"
    left_out = {row for numbers in repeated.values() for row in numbers}
    kept = [row for number, row in enumerate(usable) if number not in left_out]
    report.kept = len(kept)
    if not kept:
        raise DataError(f"{file} holds no usable row: {report.summary()}. Correct its rows, or remove the file.")
    marks = _hashes(texts[item or 0] for _, texts in kept) >> np.uint64(32)
    return KeptRows(report, kept, marks.astype(np.uint32))


def _repeated(rows: list[tuple[int, Texts]], *, output: int, wrong: int | None) -> dict[str, list[int]]:
    """Reason -> places of rows to drop: all of an input with two outputs, and otherwise those like an earlier row.

    With wrong outputs, two outputs of an input contradict each other only if one is wrong elsewhere: the same prompt
    with another pair of answers is another row.
    """
    by_input: dict[str, list[tuple[int, Texts]]] = {}
    for row, (_, texts) in enumerate(rows):
        by_input.setdefault(texts[0], []).append((row, texts))
    repeated: dict[str, list[int]] = {CONTRADICTORY: [], DUPLICATE: []}
    for alike in by_input.values():
        if len(alike) == 1:
            continue
        outputs = {texts[output] for _, texts in alike}
        if len(outputs) > 1 if wrong is None else outputs & {texts[wrong] for _, texts in alike}:
            repeated[CONTRADICTORY] += [row for row, _ in alike]
            continue
        first: dict[Texts, int] = {}
        repeated[DUPLICATE] += [row for row, texts in alike if first.setdefault(texts, row) != row]
    return {reason: sorted(places) for reason, places in repeated.items() if places}


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
