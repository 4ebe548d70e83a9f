"""The sign-flip test: p values that assume nothing but symmetry of what an item adds."""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Float, Float32

EXACT_ITEMS = 14

# Elements of one block of (head, draw) products: small enough to stay in a core's cache.
_BLOCK = 2**18


def sign_flip_p(
    sums: Float[np.ndarray, "item head"], *, draws: int, rng: np.random.Generator
) -> Float[np.ndarray, " head"]:
    """Two-sided p of the sign-flip test on the sum over items; one sign per item, the same signs for all heads.

    `p = (1 + hits) / (1 + draws)`, a hit being a draw with `|sum of signed items| >= |observed sum|`. With at most 14
    items all sign vectors are enumerated instead and `p = hits / 2^items`, the observed vector among the hits. The
    null is that an item's sum is symmetric around 0; nothing is assumed about prompts of one item or about heads.
    """
    n_items, n_heads = sums.shape
    size = np.abs(sums).sum(axis=0)
    shares = (sums / np.where(size > 0, size, 1.0)).T.astype(np.float32)
    # Sums that are equal in exact arithmetic differ in their last bits, by the order of addition: such ties are hits.
    reached = np.abs(shares.sum(axis=1, keepdims=True)) - n_items * np.finfo(np.float32).eps
    exact = n_items <= EXACT_ITEMS
    blocks = _all_signs(n_items) if exact else _random_signs(n_items, draws, max(256, _BLOCK // n_heads), rng)
    hits, total = np.zeros(n_heads, dtype=np.int64), 0
    for signs in blocks:
        flipped = shares @ signs
        hits += np.count_nonzero(np.abs(flipped, out=flipped) >= reached, axis=1)
        total += signs.shape[1]
    return hits / total if exact else (1 + hits) / (1 + total)


def _all_signs(n_items: int) -> Iterator[Float32[np.ndarray, "item draw"]]:
    # The first item keeps its sign: a vector and its opposite give the same absolute sum, so half of them tell all.
    vectors = np.arange(2 ** (n_items - 1), dtype=np.int64)
    bits = np.arange(n_items)[:, None]
    yield (1 - 2 * ((vectors << 1 >> bits) & 1)).astype(np.float32)


def _random_signs(
    n_items: int, draws: int, block: int, rng: np.random.Generator
) -> Iterator[Float32[np.ndarray, "item draw"]]:
    # Whole 64-bit words per draw: the signs do not depend on the blocks' size, nor the first draws on their number.
    words = -(-n_items // 64)
    for start in range(0, draws, block):
        size = min(block, draws - start)
        bits64 = rng.integers(0, 2**64, size=(size, words), dtype=np.uint64).astype("<u8")
        bits = np.unpackbits(bits64.view(np.uint8), axis=1, count=n_items, bitorder="little")
        yield 1 - 2 * bits.T.astype(np.float32)
