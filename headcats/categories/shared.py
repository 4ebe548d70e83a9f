"""How many heads categories share, beside the number that chance would give."""

import numpy as np
import xarray as xr
from jaxtyping import Bool, Float, Int

from headcats.categories.argument_checks import MEMBERS, check_is
from headcats.errors import DataError, OptionError
from headcats.random_streams import stream

# Of the category variables: name of helping heads -> name of suppressing ones.
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
    """Exact set of categories per head, and how many heads share k categories beside the number expected by chance.

    Helping and suppressing heads are two maps, never one. Only `in` counts. Chance: each category keeps its number of
    heads, placed at random independently of the others, over all heads (`expected`, `p`) or over the heads of each
    layer (`expected_within_layers`, `p_within_layers`, where sharing a layer is no evidence). `p = (1 + hits) / (1 +
    draws)`, a hit being a draw with at least as many heads of exactly k categories as observed: one-sided. **This tests
    whether categories are independent of each other, not whether they are specific:** heads that serve everything give
    a small p too. Heads without a number in any category (they do not exist in the model or were not scored) take no
    part.

    Args:
        members: What `hc.categorize` returns.
        sign: Whose overlap: of the heads that help a category, or of those that suppress it. In the result of the
            latter `member, effect, low, high, p_value, q_value, tasks, size, probability` are those of suppressing
            heads, effects negative, and the attribute `sign` says so.
        draws: Random placements.
        seed: Seed of the placements.

    Returns:
        The variables of `members`, and: `n_categories (layer, head)`; `set (layer, head)`: names joined by "+" in the
        order of the categories, "" for none; `undecided (layer, head)`: in no category and undecided in at least one
        that has numbers;
        `observed, expected, p, expected_within_layers, p_within_layers (k)` for exactly k = 1..n categories;
        `jaccard (category, other)`: intersection over union, NaN where both are empty or one has no numbers; where the
        memberships carry their resamples, `jaccard_low, jaccard_high`: 95 % percentile interval over them, its
        ends indices that some resample has (items resampled within tasks, tasks and cut-offs fixed; resamples in which
        both are empty count as 0; NaN where `probability` is NaN for all heads of one). Resampling adds the noise of
        the data once more, so such an interval can lie below a large overlap.

    Raises:
        OptionError: `draws` below 1, or another sign.
        DataError: Something else than memberships; suppressing heads asked of a result that has none, or helping ones
            of a map of suppressing heads.

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
    known = members["effect"].transpose(*order).notnull().values
    exists, judged = known.any(axis=0), known.any(axis=(1, 2))
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
    result["undecided"] = (order[1:], (count == 0) & (outcome[judged] == 0).any(axis=0) & exists)
    result["observed"] = ("k", observed)
    layers = np.broadcast_to(np.arange(member.shape[1])[:, None], exists.shape)[exists]
    for suffix, blocks in (("", np.full_like(layers, -1)), ("_within_layers", layers)):
        drawn = _chance_counts(member[:, exists], blocks, names, draws=draws, seed=seed)
        result[f"expected{suffix}"] = ("k", drawn.mean(axis=0))
        result[f"p{suffix}"] = ("k", (1 + (drawn >= observed).sum(axis=0)) / (1 + draws))
    pairs = ("category", "other")
    jaccard = jaccards(member.reshape(len(names), -1))
    result["jaccard"] = (pairs, np.where(np.outer(judged, judged), jaccard, np.nan))
    if "resampled_member" in members:
        drawn = members["resampled_member"].transpose("resample", *order).values
        spread = np.nan_to_num(jaccards(drawn.reshape(len(drawn), len(names), -1)), nan=0.0)
        drawable = members["probability"].notnull().any(order[1:]).values
        unknown = np.isnan(result["jaccard"].values) | ~np.outer(drawable, drawable)
        for name, quantile in (("jaccard_low", 0.025), ("jaccard_high", 0.975)):
            bound = np.quantile(spread, quantile, axis=0, method="inverted_cdf")
            result[name] = (pairs, np.where(unknown, np.nan, bound))
    return result


def jaccards(member: Bool[np.ndarray, "*draw category head"]) -> Float[np.ndarray, "*draw category category"]:
    """Intersection over union of every two categories; NaN where both are empty."""
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
    swapped = {name: other for name, other in _SUPPRESSING.items() if other in members}
    kept = members.drop_vars([name for name in swapped if name in members])
    return kept.rename({other: name for name, other in swapped.items()}).assign_attrs(sign=sign)


def _chance_counts(
    member: Bool[np.ndarray, "category head"],
    blocks: Int[np.ndarray, " head"],
    names: list[str],
    *,
    draws: int,
    seed: int,
) -> Int[np.ndarray, "draw k"]:
    # (draw, k): heads in exactly k categories after permuting each category's members within each block of heads.
    counts = np.zeros((draws, len(names) + 1), dtype=np.int64)
    for block in np.unique(blocks):
        total = np.zeros((draws, int((blocks == block).sum())), dtype=np.int8)
        for name, row in zip(names, member[:, blocks == block], strict=True):
            rng = stream(seed, name, "overlap by chance", str(block))
            total += rng.permuted(np.tile(row.astype(np.int8), (draws, 1)), axis=1)
        for k in range(1, len(names) + 1):
            counts[:, k] += (total == k).sum(axis=1)
    return counts[:, 1:]
