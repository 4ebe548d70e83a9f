"""Do the members of a category cluster in groups of heads that share keys and values, beyond what layers explain?"""

import numpy as np
import xarray as xr
from jaxtyping import Bool, Int

from headcats.results.head_axes import KV_HEAD
from headcats.statistics.multiplicity import benjamini_hochberg
from headcats.statistics.pairs_in_groups import Block, pairs_by_chance


def key_sharing_pairs(members: xr.Dataset) -> dict[str, xr.DataArray]:
    """Pairs of members that share keys and values, with the number by chance; {} where no heads share any.

    The null: within each layer, the members of a category are exchangeable over the layer's heads with a number. The
    statistic: pairs of members that read one key-value head, summed over layers. Its distribution is computed, not
    drawn (`headcats.statistics.pairs_in_groups`).

    Returns:
        Over `category`: `kv_pairs` observed, `kv_pairs_expected`, `kv_pairs_p` (at least as many, one-sided; NaN where
        only one number is possible, as with a single member in every layer) and `kv_pairs_q` (Benjamini-Hochberg over
        the categories).
    """
    if KV_HEAD not in members.coords:
        return {}
    order = ("category", "layer", "head")
    number = members[KV_HEAD].transpose(*order[1:]).values
    inside = (members["member"] == 1).transpose(*order).values
    exists = members["effect"].notnull().transpose(*order).values
    observed = np.zeros(len(inside), dtype=np.int64)
    expected, p_value = np.full(len(inside), np.nan), np.full(len(inside), np.nan)
    for place, (marked, present) in enumerate(zip(inside, exists, strict=True)):
        layers = [_counts(*layer) for layer in zip(number, marked, present, strict=True) if layer[2].any()]
        observed[place] = sum(int((in_group * (in_group - 1) // 2).sum()) for _, in_group in layers)
        blocks: list[Block] = [(tuple(sizes.tolist()), int(in_group.sum())) for sizes, in_group in layers]
        chance = pairs_by_chance(blocks)
        expected[place] = np.arange(len(chance)) @ chance if layers else np.nan
        if (chance > 0).sum() > 1:
            p_value[place] = min(1.0, float(chance[observed[place] :].sum()))
    variables = {"kv_pairs": observed, "kv_pairs_expected": expected, "kv_pairs_p": p_value}
    variables["kv_pairs_q"] = benjamini_hochberg(p_value)
    return {name: xr.DataArray(values, dims="category") for name, values in variables.items()}


def _counts(
    number: Int[np.ndarray, " head"], marked: Bool[np.ndarray, " head"], present: Bool[np.ndarray, " head"]
) -> tuple[Int[np.ndarray, " group"], Int[np.ndarray, " group"]]:
    """Heads of each group of a layer, and how many of them are marked."""
    _, group = np.unique(number[present], return_inverse=True)
    return np.bincount(group), np.bincount(group, weights=marked[present]).astype(np.int64)
