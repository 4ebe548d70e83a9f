"""How far two halves of the prompts agree about the heads."""

import math

import numpy as np
from jaxtyping import Float

SPLITS = 100


def reliability(sums: Float[np.ndarray, "item head"], *, rng: np.random.Generator) -> float:
    """Split-half reliability of a task's profile over heads: Spearman-Brown of the mean correlation of 100 splits by
    item.

    `2 r / (1 + r)`, r the mean over splits of the correlation over heads between the halves' summed differences.
    Averaging comes first because the formula runs off to minus infinity in single splits with a negative r. At most 1,
    cut at -1; NaN below 2 items, below 3 heads, or where no split has variance in both halves.
    """
    n_items, n_heads = sums.shape
    if n_items < 2 or n_heads < 3:
        return math.nan
    first = rng.permuted(np.tile(np.arange(n_items) < n_items // 2, (SPLITS, 1)), axis=1).astype(np.float64)
    halves = []
    for half in (first, 1 - first):
        profile = half @ sums
        profile -= profile.mean(axis=1, keepdims=True)
        size = np.sqrt((profile**2).sum(axis=1, keepdims=True))
        flat = size <= 1e-12 * np.abs(sums).sum()
        halves.append(np.divide(profile, size, where=~flat, out=np.full_like(profile, np.nan)))
    correlations = (halves[0] * halves[1]).sum(axis=1)
    if np.isnan(correlations).all():
        return math.nan
    r = float(np.nanmean(correlations))
    return max(-1.0, 2 * r / (1 + r)) if r > -1 else -1.0
