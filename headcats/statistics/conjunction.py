"""Partial conjunction: does a head matter in at least r of n tasks?"""

import numpy as np
from jaxtyping import Float

from headcats.statistics.distributions import normal_above, normal_quantile

# Shares of the level that the two tests below get.
STOUFFER, SIMES = 0.8, 0.2


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
        stouffer = normal_above(normal_quantile(largest).sum(axis=0) / np.sqrt(variance))
    return np.asarray(np.minimum(1.0, np.minimum(stouffer / STOUFFER, simes / SIMES)))
