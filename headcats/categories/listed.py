"""`in_both`: heads of a list that are in the categories of a map, beside chance."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from jaxtyping import Bool

from headcats.base.errors import DataError
from headcats.categories.argument_checks import MEMBERS, check_is
from headcats.categories.shared import of_sign
from headcats.models.head import Head, distinct


def in_both(members: xr.Dataset, heads: Sequence[Any], *, sign: str = "helping") -> pd.DataFrame:
    """Count the heads of a list, such as one of a paper, that are in each category, beside chance.

    Chance: as many heads of every layer as the list has there, drawn at random. So a list is not found to agree with a
    category because both are of late layers.

    Args:
        members: What `hc.categorize` or `hc.overlap` returns.
        heads: Heads as `hc.heads` reads them, or as names.
        sign: "helping" or "suppressing" heads of the map.

    Returns:
        One row a `category`, and one for "any": `members`, `listed` (heads of the list with an effect in it), `both`,
        `expected` (mean by chance), `p_value` (that chance gives as many; one-sided; both NaN of a category that is not
        judged) and `heads` (names of those in both).

    Raises:
        DataError: No memberships, no head, a head twice, or one that the map lacks.

    Example:
        >>> import headcats as hc
        >>> members = hc.categorize(hc.score(hc.load("results/mini-icl"), method="denoising_patch"))
        >>> table = hc.categories.in_both(members, ["L1H0", "L2H3", "L4H1"])
        >>> list(table.columns)
        ['members', 'listed', 'both', 'expected', 'p_value', 'heads']

    References:
        Fisher (1922), J. R. Stat. Soc. 85, 87-94, for the distribution within a layer.
    """
    check_is(members, MEMBERS, by="hc.categories.in_both")
    members = of_sign(members, sign)
    order = ("category", "layer", "head")
    inside = members["member"].transpose(*order).values == 1
    judged = members["effect"].transpose(*order).notnull().values
    named, layers, rows = listed_heads(members, heads), members["layer"].values, {}
    names = [str(name) for name in members["category"].values]
    inside, judged = (np.concatenate([marks, marks.any(axis=0, keepdims=True)]) for marks in (inside, judged))
    for name, category, exists in zip([*names, "any"], inside, judged, strict=True):
        listed = named & exists
        both = listed & category
        shared = ", ".join(str(Head(int(layers[row]), int(head))) for row, head in np.argwhere(both))
        chance = _by_chance(category, listed, exists) if exists.any() else np.array([np.nan])
        mean = float(chance @ np.arange(len(chance)))
        p_value = float(np.minimum(1.0, chance[int(both.sum()) :].sum()))
        rows[name] = (int(category.sum()), int(listed.sum()), int(both.sum()), mean, p_value, shared)
    table = pd.DataFrame.from_dict(
        rows, orient="index", columns=["members", "listed", "both", "expected", "p_value", "heads"]
    )
    return table.rename_axis("category")


def listed_heads(grid: xr.Dataset, heads: Sequence[Any]) -> Bool[np.ndarray, "layer head"]:
    """Marks of the heads of a list in a grid of layers and heads; a DataError for one that it lacks, or a repeat."""
    layers = [int(layer) for layer in grid["layer"].values]
    marks = np.zeros((grid.sizes["layer"], grid.sizes["head"]), dtype=bool)
    for head in distinct(heads):
        if head.layer not in layers or not 0 <= head.head < marks.shape[1]:
            raise DataError(
                f"The map has no head {head}: its layers {layers[0]} to {layers[-1]} have up to {marks.shape[1]} heads."
            )
        marks[layers.index(head.layer), head.head] = True
    return marks


def _by_chance(
    category: Bool[np.ndarray, "layer head"],
    listed: Bool[np.ndarray, "layer head"],
    exists: Bool[np.ndarray, "layer head"],
) -> np.ndarray:
    """Probability of each number of shared heads, if those of the list were any of their layers."""
    from scipy.stats import hypergeom  # takes longer to import than most commands to run

    chance = np.ones(1)
    for row in range(len(exists)):
        n, k, drawn = (int(marks[row].sum()) for marks in (exists, category & exists, listed))
        if drawn:
            chance = np.convolve(chance, hypergeom.pmf(np.arange(drawn + 1), n, k, drawn))
    return chance
