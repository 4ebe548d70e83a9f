"""Many heads, many tasks: q values, and what p a number of items and draws can reach."""

import math

import numpy as np
from jaxtyping import Float
from scipy import stats

from headcats.statistics.bootstrap import RESAMPLES

MOST_DRAWS = 4_000_000
"""More sign draws are not made: their time goes with draws times tests, and without a limit alpha decides it alone."""


def draws_for(tests: int, *, alpha: float) -> int:
    """Sign draws so that one head among `tests` can reach `q <= alpha`: `max(9999, ceil(2 tests / alpha))`, or the most
    that are made.
    """
    return min(MOST_DRAWS, max(RESAMPLES, math.ceil(2 * tests / alpha)))


def smallest_p(n_items: int, *, draws: int) -> float:
    """Smallest two-sided p within reach: the larger of 2^(1 - n_items) and 1 / (draws + 1)."""
    return max(2.0 ** (1 - n_items), 1 / (draws + 1))


def discoveries_needed(smallest: float, *, tests: int, alpha: float) -> int:
    """How many heads must reach `smallest` at once before Benjamini-Hochberg calls them; above `tests`: never."""
    return max(1, math.ceil(smallest * tests / alpha - 1e-9))


def benjamini_hochberg(p_values: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
    """The q values over all entries together; NaN entries are left out of the count and stay NaN.

    References:
        Benjamini & Hochberg (1995), J. R. Stat. Soc. B 57, 289-300.
    """
    q_values = np.full(p_values.shape, np.nan)
    has_p = ~np.isnan(p_values)
    if has_p.any():
        q_values[has_p] = stats.false_discovery_control(p_values[has_p], method="bh")
    return q_values
