"""P values of statistics among relabelled tasks; docs/relabelling.md derives the test."""

import warnings
from collections.abc import Iterable

import numpy as np
from jaxtyping import Bool, Float

ALPHA = 0.05
"""Level of every p."""
# Statistics are rounded differently when tasks come in another order: a smaller difference is a tie, which counts.
_TIE = 1e-9


def family_wise_p(statistic: Float[np.ndarray, "labelling category"]) -> Float[np.ndarray, "labelling category"]:
    """Share of labellings, itself included, with a category whose statistic is as large; NaN without a statistic."""
    largest = np.sort(maxima(statistic))
    reaching = (~np.isnan(largest)).sum() - np.searchsorted(largest, statistic - _TIE)
    return np.where(np.isnan(statistic), np.nan, reaching / max(1, len(statistic)))


def conditional_p(
    statistic: Float[np.ndarray, "labelling category"], alike: Iterable[Bool[np.ndarray, " labelling"]]
) -> Float[np.ndarray, "labelling category"]:
    """`family_wise_p` among all labellings, or the largest among any of some `alike` that a labelling is one of."""
    p = family_wise_p(statistic)
    for rows in alike:
        p[rows] = np.fmax(p[rows], family_wise_p(statistic[rows]))
    return p


def standardized(statistic: Float[np.ndarray, "labelling category"]) -> Float[np.ndarray, "labelling category"]:
    """The statistic minus its mean over labellings, in standard deviations over them; NaN where it never varies."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of cells without a number
        mean, spread = np.nanmean(statistic, axis=0), np.nanstd(statistic, axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(spread > _TIE, (statistic - mean) / spread, np.nan)


def maxima(statistic: Float[np.ndarray, "labelling category"]) -> Float[np.ndarray, " labelling"]:
    """The largest statistic of every labelling; NaN where no category has one."""
    return np.fmax.reduce(statistic, axis=1, initial=np.nan)


def mean_over(
    values: Float[np.ndarray, "*row task cell"], groups: Float[np.ndarray, "*row task group"]
) -> Float[np.ndarray, "*row group cell"]:
    """Mean over the tasks of every group; NaN do not count, and are the mean where there is nothing else."""
    counted = ~np.isnan(values)
    sums = np.einsum("...tg,...tc->...gc", groups, np.where(counted, values, 0.0), optimize=True)
    with np.errstate(invalid="ignore"):
        return sums / np.einsum("...tg,...tc->...gc", groups, counted.astype(float), optimize=True)


def minus_other_categories(means: Float[np.ndarray, "*row category cell"]) -> Float[np.ndarray, "*row category cell"]:
    """Every category's value minus the mean over the other categories that have one; NaN where none has."""
    has = ~np.isnan(means)
    values = np.where(has, means, 0.0)
    n_others = has.sum(axis=-2, keepdims=True) - has
    with np.errstate(divide="ignore", invalid="ignore"):
        return means - (values.sum(axis=-2, keepdims=True) - values) / np.where(n_others > 0, n_others, np.nan)
