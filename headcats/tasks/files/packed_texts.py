"""Rows of texts in about as much memory as a file of them."""

from bisect import bisect_right
from collections.abc import Sequence

import numpy as np
from jaxtyping import UInt32

Texts = tuple[str, ...]
_BETWEEN = b"\xff"  # is never in UTF-8


class PackedTexts:
    """Rows of texts that are added a chunk at a time.

    Python keeps fifty bytes beside every text, more than a word takes: 100 MB of word pairs would need 700 MB.
    """

    def __init__(self) -> None:
        self._chunks: list[tuple[bytes, UInt32[np.ndarray, " ends"]]] = []
        self._starts: list[int] = []
        self._n = 0

    def __len__(self) -> int:
        return self._n

    def append(self, rows: Sequence[Sequence[bytes]]) -> None:
        """Add rows of texts in UTF-8."""
        joined = list(map(_BETWEEN.join, rows))
        self._starts.append(self._n)
        self._n += len(rows)
        self._chunks.append((b"".join(joined), np.cumsum([0, *map(len, joined)], dtype=np.uint32)))

    def __getitem__(self, row: int) -> Texts:
        chunk = bisect_right(self._starts, row) - 1
        place = row - self._starts[chunk]
        data, ends = self._chunks[chunk]
        return tuple(text.decode("utf-8") for text in data[ends[place] : ends[place + 1]].split(_BETWEEN))
