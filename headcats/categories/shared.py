"""How many heads categories share, and the number expected by chance."""

import numpy as np
import xarray as xr
from jaxtyping import Bool, Float, Int

from headcats.categories.argument_checks import MEMBERS, check_is
from headcats.errors import DataError, OptionError
from headcats.statistics.random_streams import stream

# Name of a variable of helping heads -> that of suppressing ones.
_SUPPRESSING = {
    "member": "suppressing",
    "resampled_member": "resampled_suppressing",
    **{
        name: f"suppressing_{name}"
        for name in (
            *("effect", "low", "high", "specific_effect", "specific_low", "specific_high"),
            *("p_value", "q_value", "tasks", "size", "probability"),
        )
    },
}


def overlap(
    members: xr.Dataset,
    *,
    sign: str = "helping",
    draws: int = 10_000,
    seed: int = 0,
) -> xr.Dataset:
    """Exact set of categories per head, and how many heads share k categories, with the number expected by chance.

    Only `in` counts. Chance: each category keeps its number of heads, placed at random and independently of the others,
    over all heads (`expected`, `p`) or within each layer (`expected_within_layers`, `p_within_layers`). One-sided
    `p = (1 + hits) / (1 + draws)`; a hit is a draw with at least the observed number of heads in exactly k categories.
    **This tests whether categories are independent of each other, not whether they are specific:** heads that serve
    everything give a small p too. Heads without a number in any category are left out.

    Args:
        members: What `hc.categorize` returns.
        sign: "helping" or "suppressing" heads. For the latter, `member, effect, low, high, p_value, q_value, tasks,
            size, probability` of the result are those of suppressing heads, effects negative.
        draws: Random placements.
        seed: Seed of the placements.

    Returns:
        The variables of `members`, and: `n_categories, set, undecided (layer, head)`; `observed, expected, p,
        expected_within_layers, p_within_layers (k)` for exactly k = 1..n categories; `jaccard (category, other)`, NaN
        if both are empty or one has no numbers, and, if the memberships were resampled, its 95 % percentile interval
        `jaccard_low, jaccard_high` (resamples in which both are empty count as 0). Resampling adds the noise of the
        data once more, so the interval can lie below a large overlap. See docs/schema.md.

    Raises:
        OptionError: `draws` below 1, or another sign.
        DataError: No memberships, or memberships without heads of this sign.

    Example:
        >>> import headcats as hc
        >>> scores = hc.score(hc.load("results/mini-icl"), method="denoising_patch", metric="logit_diff")
        >>> shared = hc.overlap(hc.categorize(scores))
        >>> shared.n_categories.dims, shared.observed.dims, shared.jaccard.dims
        (('layer', 'head'), ('k',), ('category', 'other'))
        >>> int(shared.observed.sum()) == int((shared.n_categories > 0).sum())
        True

    References:
        Phipson & Smyth (2010), Stat. Appl. Genet. Mol. Biol. 9, 39 (why permutation p values count the observed one).
    """
    check_is(members, MEMBERS, by="hc.overlap")
    if draws < 1:
        raise OptionError(f"draws must be at least 1, got {draws}.")
    members = _of_sign(members, sign)
    order = ("category", "layer", "head")
    outcome = members["member"].transpose(*order).values
    has_number = members["effect"].transpose(*order).notnull().values
    exists, with_numbers = has_number.any(axis=0), has_number.any(axis=(1, 2))
    names = [str(name) for name in members["category"].values]
    member = outcome == 1
    count = member.sum(axis=0)
    ks = np.arange(1, len(names) + 1)
    observed = np.array([(count == k).sum() for k in ks])

    result = members.assign_coords(k=ks, other=names)
    result["n_categories"] = (order[1:], count.astype(np.int8))
    sets = [
        "+".join(name for name, inside in zip(names, cell, strict=True) if inside)
        for cell in member.reshape(len(names), -1).T
    ]
    result["set"] = (order[1:], np.array(sets, dtype=str).reshape(count.shape))
    result["undecided"] = (order[1:], (count == 0) & (outcome[with_numbers] == 0).any(axis=0) & exists)
    result["observed"] = ("k", observed)
    layers = np.broadcast_to(np.arange(member.shape[1])[:, None], exists.shape)[exists]
    for suffix, blocks in (("", np.full_like(layers, -1)), ("_within_layers", layers)):
        counts = _chance_counts(member[:, exists], blocks, names, draws=draws, seed=seed)
        result[f"expected{suffix}"] = ("k", counts.mean(axis=0))
        result[f"p{suffix}"] = ("k", (1 + (counts >= observed).sum(axis=0)) / (1 + draws))
    pairs = ("category", "other")
    jaccard = jaccards(member.reshape(len(names), -1))
    result["jaccard"] = (pairs, np.where(np.outer(with_numbers, with_numbers), jaccard, np.nan))
    if "resampled_member" in members:
        resampled = members["resampled_member"].transpose("resample", *order).values
        spread = np.nan_to_num(jaccards(resampled.reshape(len(resampled), len(names), -1)), nan=0.0)
        drawable = members["probability"].notnull().any(order[1:]).values
        unknown = np.isnan(result["jaccard"].values) | ~np.outer(drawable, drawable)
        for name, quantile in (("jaccard_low", 0.025), ("jaccard_high", 0.975)):
            bound = np.quantile(spread, quantile, axis=0, method="inverted_cdf")
            result[name] = (pairs, np.where(unknown, np.nan, bound))
    return result


def jaccards(member: Bool[np.ndarray, "*draw category head"]) -> Float[np.ndarray, "*draw category category"]:
    """Intersection over union of every two categories; NaN if both are empty."""
    flat = member.astype(np.float64)
    both = flat @ np.swapaxes(flat, -1, -2)
    sizes = flat.sum(axis=-1)
    either = sizes[..., :, None] + sizes[..., None, :] - both
    return np.divide(both, either, where=either > 0, out=np.full_like(both, np.nan))


def _of_sign(members: xr.Dataset, sign: str) -> xr.Dataset:
    if sign not in ("helping", "suppressing"):
        raise OptionError(f"sign must be 'helping' or 'suppressing', got {sign!r}.")
    if sign == "helping":
        if members.attrs.get("sign") == "suppressing":
            raise DataError("This overlap holds suppressing heads alone; take what hc.categorize returns.")
        return members.assign_attrs(sign=sign)
    if "suppressing" not in members:
        raise DataError("These memberships hold no suppressing heads; take what hc.categorize returns.")
    renamed = {suppressing: name for name, suppressing in _SUPPRESSING.items() if suppressing in members}
    return members.drop_vars(list(renamed.values()), errors="ignore").rename(renamed).assign_attrs(sign=sign)


def _chance_counts(
    member: Bool[np.ndarray, "category head"],
    blocks: Int[np.ndarray, " head"],
    names: list[str],
    *,
    draws: int,
    seed: int,
) -> Int[np.ndarray, "draw k"]:
    """Heads in exactly k categories after permuting each category's members within each block of heads."""
    counts = np.zeros((draws, len(names) + 1), dtype=np.int64)
    for block in np.unique(blocks):
        total = np.zeros((draws, int((blocks == block).sum())), dtype=np.int8)
        for name, row in zip(names, member[:, blocks == block], strict=True):
            rng = stream(seed, name, "overlap by chance", str(block))
            total += rng.permuted(np.tile(row.astype(np.int8), (draws, 1)), axis=1)
        for k in range(1, len(names) + 1):
            counts[:, k] += (total == k).sum(axis=1)
    return counts[:, 1:]
