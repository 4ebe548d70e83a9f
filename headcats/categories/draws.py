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
    """Heads that reach the cut-offs of the whole data in each bootstrap resample of items, tasks fixed.

    And heads with any resample: those of a single query item are NaN.
    """
    inside, drawable = [], []
    for reduction, effect, low, p_value in zip(reductions, *cutoffs, strict=True):
        draws = reduction.of_draws("resampled")
        inside.append((draws["effect"] >= effect) & (draws["low"] >= low) & (draws["p_value"] <= p_value))
        drawable.append(~np.isnan(draws["effect"]).all(axis=0))
    return np.stack(inside, axis=1), np.stack(drawable)


def sizes_without_effect(
    reductions: Sequence[Reduction], table: xr.Dataset, rule: Rule
) -> Float[np.ndarray, " category"]:
    """Mean number of heads per category that the rule finds if no head has an effect; NaN for a single query item.

    Null data keep the size of every item's effect, with a random sign (the same in all tasks with this item).
    """
    draws = [reduction.of_draws("flipped") for reduction in reductions]
    dims = ("category", "layer", "head")
    flipped = {name: np.stack([grids[name] for grids in draws], axis=1) for name in draws[0]}
    table = table.assign({name: (dims, grids[0].copy()) for name, grids in flipped.items()})
    counts = []
    for draw in range(len(flipped["effect"])):
        for name, grids in flipped.items():
            table[name].values[...] = grids[draw]  # in place: a new table takes longer than the rule
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", StatisticsWarning)  # warned once, about the data
            outcome = rule(table)
        counts.append((outcome.values == 1).sum(axis=(1, 2)))
    drawable = [not np.isnan(grids["effect"]).all() for grids in draws]
    return np.where(drawable, np.mean(counts, axis=0), np.nan)
