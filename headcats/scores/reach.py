"""Weak gaps, and the number of query items that it takes to find a head."""

import math

import numpy as np
import xarray as xr

from headcats.statistics.distributions import t_quantile
from headcats.statistics.multiplicity import items_for
from headcats.statistics.pooled_null import ROUNDING
from headcats.statistics.task import Estimate

_POWER = 0.8
_MOST_ITEMS = 1024


def weak_gap(task: str, estimate: Estimate) -> str:
    """A task's gap with its interval, for a warning."""
    interval = "unknown" if np.isnan(estimate.gap_low) else f"{estimate.gap_low:.3g} to {estimate.gap_high:.3g}"
    return f"{task} ({estimate.gap:.3g}, 95 % interval {interval})"


def items_wanted(scores: xr.Dataset, *, alpha: float, margin: float) -> int:
    """Fewest query items per task, at most 1024, with which a head can be found, be it the only one.

    A single discovery among all tests can reach `alpha`, and in the median task, whose errors fall with the root of the
    items, a head that scatters like the median one is told from `margin` (shares of the gap, 0 for any) off with 80 %
    probability.
    """
    tests = max(int(scores["p_value"].notnull().sum()), 1)
    # A standard error above `ROUNDING` implies scatter. Heads that scatter with a smaller one are left out: they would
    # lower the median, and with it the number of items.
    errors = scores["standard_error"].values
    errors = errors[errors > ROUNDING]
    n_items = float(scores["n_items"].median())
    # The median of chi-squared by its degrees of freedom (Wilson & Hilferty 1931): below 1, so errors of few items are
    # too small in the median.
    root = math.sqrt(n_items / (1 - 2 / (9 * max(n_items - 1, 1))) ** 3)
    error_of_one = float(np.median(errors)) * root if len(errors) else 0.0
    floor_of_one = scores.attrs["error_floor"] * root
    items = np.arange(max(items_for(alpha / tests), 2), _MOST_ITEMS)
    error, floor, freedom = error_of_one / np.sqrt(items), floor_of_one / np.sqrt(items), items - 1
    width = (error + floor) * t_quantile(alpha / tests / 2, freedom)
    enough = items[width + error * t_quantile(1 - _POWER, freedom) <= margin] if margin and error_of_one > 0 else items
    return int(enough.min(initial=_MOST_ITEMS))
