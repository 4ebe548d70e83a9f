"""Random streams named after their purpose.

Every draw in headcats uses them: streams with different names are independent, whatever other streams were opened, in
whatever order. So a task gives the same numbers alone as among thirty, and a resumed run those of an uninterrupted one.
"""

import hashlib
import itertools
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

T = TypeVar("T")
_TRIES = 16


def stream(seed: int, *names: str) -> np.random.Generator:
    """A generator derived from `seed` and `names` only, on every machine; `("ab", "c")` and `("a", "bc")` differ."""
    digest = hashlib.blake2b(digest_size=32)
    for part in (str(int(seed)), *names):
        encoded = part.encode("utf-8")
        digest.update(len(encoded).to_bytes(8, "little"))
        digest.update(encoded)
    entropy = int.from_bytes(digest.digest(), "little")
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(entropy)))


def sample(pool: Sequence[T], size: int, draws: np.random.Generator) -> list[T]:
    """Draw so many different elements, in random order."""
    return [pool[index] for index in draws.choice(len(pool), size, replace=False)]


def drawn(rows: Sequence[T], fits: Callable[[T], bool], *, draws: np.random.Generator) -> T | None:
    """A row that fits: one of 16 that are drawn, else the first of all; None without any."""
    places = itertools.chain(draws.integers(len(rows), size=_TRIES).tolist(), range(len(rows)))
    return next((rows[place] for place in places if fits(rows[place])), None)
