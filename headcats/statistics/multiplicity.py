"""Many heads, many tasks: q values, partial conjunctions, and what p a number of items and draws can reach."""

import numpy as np
from jaxtyping import Float
from scipy import special

# Shares of the level that the two tests below get.
STOUFFER, SIMES = 0.8, 0.2


def smallest_p(n_items: int, *, draws: int) -> float:
    """Smallest two-sided p within reach: n^(1 - n), how often a resample repeats a single item, or 2 / (draws + 1)."""
    return min(1.0, max(float(n_items) ** (1 - n_items), 2 / (draws + 1)))


def items_for(p_value: float) -> int:
    """Smallest number of items that can reach a two-sided p."""
    return next(n for n in range(1, 200) if float(n) ** (1 - n) <= p_value)


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


def partial_conjunction(
    p_values: Float[np.ndarray, "task ..."], *, r: int, correlation: Float[np.ndarray, "task task"] | None = None
) -> Float[np.ndarray, "..."]:
    """One-sided p of "fewer than r of the n tasks have the effect", from the n - r + 1 largest p values of a cell.

    These include the p of a task without it. `min(p_Stouffer / .8, p_Simes / .2)`, at most 1: Stouffer's sum finds
    heads of all tasks, Simes' test those of hardly more than r. NaN counts as 1. `correlation` of the noise between
    tasks counts where it raises the variance of Stouffer's sum; p values must be independent or positively dependent.

    References:
        Benjamini & Heller (2008), Biometrics 64, 1215-1222; Simes (1986), Biometrika 73, 751-754; Strube (1985),
        Psychol. Bull. 97, 334-341, for correlated tests.
    """
    p_values = np.where(np.isnan(p_values), 1.0, p_values)
    left = len(p_values) - r + 1
    largest = np.sort(p_values, axis=0)[r - 1 :]
    places = np.arange(1, left + 1).reshape(-1, *[1] * (p_values.ndim - 1))
    simes = (largest * left / places).min(axis=0)
    variance = np.full(largest.shape[1:], float(left))
    if correlation is not None and left > 1:
        order = np.argsort(p_values, axis=0, kind="stable")[r - 1 :]
        between = correlation * (1 - np.eye(len(p_values)))
        variance = variance + np.maximum(0.0, between[order[:, None], order[None, :]].sum(axis=(0, 1)))
    with np.errstate(divide="ignore"):
        stouffer = special.ndtr(special.ndtri(largest).sum(axis=0) / np.sqrt(variance))
    return np.asarray(np.minimum(1.0, np.minimum(stouffer / STOUFFER, simes / SIMES)))
