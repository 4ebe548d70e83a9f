"""Resampling of query items."""

import numpy as np
from jaxtyping import Float


def item_weights(n_items: int, *, draws: int, rng: np.random.Generator) -> Float[np.ndarray, "draw item"]:
    """Bootstrap weight of every item in every draw, summing to the number of items; a single item weighs 1.

    Of m items m - 1 are drawn with replacement and weigh m / (m - 1) each: drawing m would understate the variance.

    References:
        Rao & Wu (1988), J. Am. Stat. Assoc. 83, 231-241.
    """
    if n_items == 1:
        return np.ones((draws, 1))
    picks = rng.integers(n_items, size=(draws, n_items - 1)) + n_items * np.arange(draws)[:, None]
    counts = np.bincount(picks.ravel(), minlength=draws * n_items).reshape(draws, n_items)
    return counts * (n_items / (n_items - 1))
