"""Permutations that leave nothing where it was."""

from collections.abc import Sequence

import numpy as np

# Draws of a permutation before it is taken for rare.
ATTEMPTS = 50


def derange(labels: Sequence[str], draws: np.random.Generator) -> list[str]:
    """A permutation that changes as many labels as can be: all, unless more than half of them are equal."""
    most = max(labels.count(label) for label in labels)
    changeable = min(len(labels), 2 * (len(labels) - most))
    for _ in range(ATTEMPTS):
        candidate = [labels[index] for index in draws.permutation(len(labels))]
        if sum(a != b for a, b in zip(candidate, labels, strict=True)) == changeable:
            return candidate
    # Few equal labels can make that rare: sorted by label and moved on by the largest group, no group meets itself.
    order = sorted(draws.permutation(len(labels)).tolist(), key=lambda index: labels[index])
    moved = list(labels)
    for place, index in enumerate(order):
        moved[index] = labels[order[(place + most) % len(labels)]]
    return moved
