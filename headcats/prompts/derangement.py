"""Permutations without fixed points."""

from collections.abc import Sequence

import numpy as np

# Random permutations tried before one is constructed.
ATTEMPTS = 50


def derange(labels: Sequence[str], draws: np.random.Generator) -> list[str]:
    """A permutation that changes as many labels as possible: all, unless more than half of them are equal."""
    most = max(labels.count(label) for label in labels)
    changeable = min(len(labels), 2 * (len(labels) - most))
    for _ in range(ATTEMPTS):
        candidate = [labels[index] for index in draws.permutation(len(labels))]
        if sum(a != b for a, b in zip(candidate, labels, strict=True)) == changeable:
            return candidate
    # Rare if there are few distinct labels: sorted by label and shifted by the largest group, no group meets itself.
    order = sorted(draws.permutation(len(labels)).tolist(), key=lambda index: labels[index])
    moved = list(labels)
    for rank, index in enumerate(order):
        moved[index] = labels[order[(rank + most) % len(labels)]]
    return moved
