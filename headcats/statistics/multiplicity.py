"""Many heads, many tasks: q values, and what p a number of items and draws can reach."""

import math

import numpy as np
from jaxtyping import Float


def smallest_p(n_items: int, *, draws: int) -> float:
    """Smallest two-sided p within reach: n^(1 - n), how often a resample repeats a single item, or 2 / (draws + 1)."""
    return min(1.0, max(float(n_items) ** (1 - n_items), 2 / (draws + 1)))


def items_for(p_value: float) -> int:
    """Smallest number of items that can reach a two-sided p."""
    return next(n for n in range(1, 200) if float(n) ** (1 - n) <= p_value)


def discoveries_needed(smallest: float, *, tests: int, alpha: float) -> int:
    """Number of heads that must reach `smallest` at once before Benjamini-Hochberg calls them; above `tests`: never."""
    return max(1, math.ceil(smallest * tests / alpha - 1e-9))


def benjamini_hochberg(p_values: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
    """The q values over all entries together; NaN entries are left out of the count and stay NaN.

    References:
        Benjamini & Hochberg (1995), J. R. Stat. Soc. B 57, 289-300.
    """
    flat = p_values.ravel()
    order = np.argsort(flat, kind="stable")[: int((~np.isnan(flat)).sum())]  # NaN comes last
    scaled = flat[order] * (len(order) / np.arange(1, len(order) + 1))
    q_values = np.full(flat.shape, np.nan)
    q_values[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0)
    return q_values.reshape(p_values.shape)
