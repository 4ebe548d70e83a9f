"""Do marked elements cluster in groups? Pairs of them in one group, beside those of elements drawn at random."""

import functools
import math
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

Block = tuple[tuple[int, ...], int]
"""Sizes of the groups that a block of elements falls into, and how many of its elements are marked."""


def pairs_by_chance(blocks: Sequence[Block]) -> Float[np.ndarray, " pairs"]:
    """Exact probability of 0, 1, ... pairs of marked elements in one group, if they lie at random in their blocks."""
    total = np.ones(1)
    for sizes, marked in blocks:
        total = np.convolve(total, _of_block(tuple(sorted(sizes)), marked))
    return total


@functools.lru_cache(maxsize=4096)
def _of_block(sizes: tuple[int, ...], marked: int) -> Float[np.ndarray, " pairs"]:
    """Share of choices of `marked` elements by pairs; `ways[m, p]` choose m in the groups so far with p pairs."""
    most = sum(math.comb(min(size, marked), 2) for size in sizes)
    ways = np.zeros((marked + 1, most + 1))
    ways[0, 0] = 1.0
    for size in sizes:
        before, ways = ways, np.zeros_like(ways)
        for chosen in range(min(size, marked) + 1):
            pairs = math.comb(chosen, 2)
            ways[chosen:, pairs:] += math.comb(size, chosen) * before[: marked + 1 - chosen, : most + 1 - pairs]
    share = ways[marked] / math.comb(sum(sizes), marked)
    return share[: int(np.flatnonzero(share)[-1]) + 1]
