"""Categories of resampled data, and of data without any effect."""

import warnings
from collections.abc import Sequence

import numpy as np
import xarray as xr
from jaxtyping import Bool, Float

from headcats.categories.reduction import Reduction
from headcats.errors import StatisticsWarning
from headcats.rules import Cutoffs, Rule


def resampled_members(
    reductions: Sequence[Reduction], cutoffs: Cutoffs
) -> tuple[Bool[np.ndarray, "resample category layer head"], Bool[np.ndarray, "category layer head"]]:
    """Which heads reach the cut-offs of the whole data in each bootstrap resample of items, tasks fixed.

    And of which heads anything is known: a single query item cannot be resampled, its draws are NaN.
    """
    inside, known = [], []
    for reduction, effect, low, p_value in zip(reductions, *cutoffs, strict=True):
        drawn = reduction.of_draws("resampled")
        inside.append((drawn["effect"] >= effect) & (drawn["low"] >= low) & (drawn["p_value"] <= p_value))
        known.append(~np.isnan(drawn["effect"]).all(axis=0))
    return np.stack(inside, axis=1), np.stack(known)


def sizes_without_effect(
    reductions: Sequence[Reduction], table: xr.Dataset, rule: Rule
) -> Float[np.ndarray, " category"]:
    """Mean number of heads per category that the rule finds where no head has any effect.

    Such data keep the scatter of every item, with a random sign (the same in all tasks that ask about it).
    NaN for a category without such data (a single query item has no scatter).
    """
    drawn = [reduction.of_draws("flipped") for reduction in reductions]
    names = list(drawn[0])
    dims = ("category", "layer", "head")
    counts = []
    for draw in range(len(drawn[0]["effect"])):
        grids = {name: (dims, np.stack([one[name][draw] for one in drawn])) for name in names}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", StatisticsWarning)  # said once, of the data
            outcome = rule(table.assign(grids))
        counts.append((outcome.values == 1).sum(axis=(1, 2)))
    drawable = [not np.isnan(one["effect"]).all() for one in drawn]
    return np.where(drawable, np.mean(counts, axis=0), np.nan)
