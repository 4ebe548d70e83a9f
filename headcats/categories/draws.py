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
    dims = ("category", "layer", "head")
    flipped = {name: np.stack([one[name] for one in drawn], axis=1) for name in drawn[0]}
    table = table.assign({name: (dims, grids[0].copy()) for name, grids in flipped.items()})
    counts = []
    for draw in range(len(flipped["effect"])):
        for name, grids in flipped.items():
            table[name].values[...] = grids[draw]  # in place: a new table takes longer than the rule
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", StatisticsWarning)  # said once, of the data
            outcome = rule(table)
        counts.append((outcome.values == 1).sum(axis=(1, 2)))
    drawable = [not np.isnan(one["effect"]).all() for one in drawn]
    return np.where(drawable, np.mean(counts, axis=0), np.nan)
