"""Rows that repeat or contradict others."""

from collections.abc import Iterator, Sequence

import numpy as np
from jaxtyping import Int64, UInt64

from headcats.tasks.files.packed_texts import PackedTexts, Texts

CONTRADICTORY = "same input with another output"
DUPLICATE = "duplicate of an earlier row"
_LARGE, _PARTS = 100_000, 16


def repeated_rows(
    texts: PackedTexts, inputs: UInt64[np.ndarray, " row"], *, output: int, wrong: int | None = None
) -> dict[str, Int64[np.ndarray, " repeated"]]:
    """Reason -> rows to drop: all of an input with two outputs, and otherwise those like an earlier row.

    With wrong outputs, as finished prompts have them, two outputs of an input contradict each other only if one is
    wrong elsewhere: the same prompt with another pair of answers is another row.
    """
    repeated: dict[str, list[int]] = {CONTRADICTORY: [], DUPLICATE: []}
    for rows in _sharing(inputs):
        for group in _by_input(texts, rows):
            outputs = {texts[row][output] for row in group}
            if len(outputs) > 1 if wrong is None else outputs & {texts[row][wrong] for row in group}:
                repeated[CONTRADICTORY] += group
                continue
            seen: set[Texts] = set()
            for row in group:
                if texts[row] in seen:
                    repeated[DUPLICATE].append(row)
                seen.add(texts[row])
    return {reason: np.sort(np.array(rows, np.int64)) for reason, rows in repeated.items() if rows}


def _sharing(inputs: UInt64[np.ndarray, " row"]) -> Iterator[Sequence[int]]:
    """Groups of rows, in ascending order, with the same hash: part by part of the hashes, to save memory."""
    parts = _PARTS if len(inputs) > _LARGE else 1
    for part in range(parts):
        rows = np.flatnonzero(inputs.view(np.uint8)[:: inputs.itemsize] % parts == part)
        rows = rows[np.argsort(inputs[rows], kind="stable")]
        starts = np.flatnonzero(np.append(True, inputs[rows][1:] != inputs[rows][:-1])) if len(rows) else rows
        stops = np.append(starts[1:], len(rows))
        for group in np.flatnonzero(stops - starts > 1):
            yield rows[starts[group] : stops[group]].tolist()


def _by_input(texts: PackedTexts, rows: Sequence[int]) -> list[list[int]]:
    """The rows of different inputs with the same hash, apart."""
    groups: dict[str, list[int]] = {}
    for row in rows:
        groups.setdefault(texts[row][0], []).append(row)
    return list(groups.values())
