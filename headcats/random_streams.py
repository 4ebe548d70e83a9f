"""Random streams named after what they are for.

Every draw in headcats takes its generator from here: two streams with different names are independent, and a stream
does not depend on which other streams were opened, or in what order. So a task scored alone gives the same numbers as
the same task scored among thirty, and a resumed run gives the same numbers as an uninterrupted one.
"""

import hashlib

import numpy as np


def stream(seed: int, *names: str) -> np.random.Generator:
    """Generator for one purpose, derived from `seed` and `names` alone.

    `stream(0, "capitals", "bootstrap")` is the same on every machine, in every process and NumPy release that keeps
    PCG64's stream; names are hashed with their lengths, so `("ab", "c")` and `("a", "bc")` differ.

    Args:
        seed: The study's seed; any integer, negative ones included.
        names: Usually a task name and a purpose; compared exactly, as Unicode text.

    Returns:
        A fresh generator at the start of its stream: two calls with equal arguments give equal draws.
    """
    digest = hashlib.blake2b(digest_size=32)
    for part in (str(int(seed)), *names):
        encoded = part.encode("utf-8")
        digest.update(len(encoded).to_bytes(8, "little"))
        digest.update(encoded)
    entropy = int.from_bytes(digest.digest(), "little")
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(entropy)))
