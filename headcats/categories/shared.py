"""How many heads categories share, and the number expected by chance."""

import itertools

import numpy as np
import xarray as xr
from jaxtyping import Bool, Float, Int

from headcats.base.errors import DataError, OptionError, check_count
from headcats.categories.argument_checks import MEMBERS, check_is
from headcats.statistics.agreement import jaccards
from headcats.statistics.random_streams import stream

# Name of a variable of helping heads -> that of suppressing ones.
_EFFECTS = ("effect", "low", "high", "specific_effect", "specific_low", "specific_high")
_SUPPRESSING = {"member": "suppressing", "resampled_member": "resampled_suppressing"}
_OTHERS = ("p_value", "p_below", "q_value", "doubtful", "tasks", "size", "probability")
_SUPPRESSING |= {name: f"suppressing_{name}" for name in (*_EFFECTS, *_OTHERS)}


def overlap(members: xr.Dataset, *, sign: str = "helping", draws: int = 10_000, seed: int = 0) -> xr.Dataset:
    """Exact set of categories per head, and how many heads share k categories, with the number expected by chance.

    Counts take undecided heads as out; beside them stand the least and most that settling these could give. "In here,
    undecided there" is no difference: `hc.categories.effect_differences` tests one. Chance: each category keeps its
    number of heads, placed at random and independently of the others, over all heads (`expected`, `p`) or within each
    layer (`expected_within_layers`, `p_within_layers`). One-sided `p = (1 + hits) / (1 + draws)`; a hit is a draw with
    at least the observed number of heads in exactly k categories. **This tests whether categories are independent of
    each other, not whether they are specific:** heads that serve everything give a small p too.

    Args:
        members: What `hc.categorize` returns.
        sign: "helping" or "suppressing" heads. For the latter, `member, effect, low, high, p_value, q_value, tasks,
            size, probability` of the result are those of suppressing heads, effects negative.
        draws: Random placements.
        seed: Seed of the placements.

    Returns:
        The variables of `members`, and: `undecided (category, layer, head)`; `n_categories, n_possible` (in or
        undecided) and `set (layer, head)`, such as "Knowledge (3 undecided)"; `observed, expected, p,
        expected_within_layers, p_within_layers (k)` for exactly k = 1..n categories; `jaccard (category, other)`, NaN
        if both are empty or one has no numbers; of both the bounds `observed_least, observed_most, jaccard_least,
        jaccard_most`; if the memberships were resampled, the 95 % percentile interval `jaccard_low, jaccard_high` (both
        empty counts as 0), which adds the noise of the data once more and can lie below a large overlap. See
        docs/schema.md.

    Raises:
        OptionError: `draws` below 1 or above 10 million, or another sign.
        DataError: No memberships, or memberships without heads of this sign.

    Example:
        >>> import headcats as hc
        >>> scores = hc.score(hc.load("results/mini-icl"), method="denoising_patch", metric="logit_diff")
        >>> shared = hc.overlap(hc.categorize(scores))
        >>> shared.n_categories.dims, shared.observed.dims, shared.jaccard.dims
        (('layer', 'head'), ('k',), ('category', 'other'))
        >>> int(shared.observed.sum()) == int((shared.n_categories > 0).sum())
        True
        >>> bool(((shared.observed_least <= shared.observed) & (shared.observed <= shared.observed_most)).all())
        True

    References:
        Phipson & Smyth (2010), Stat. Appl. Genet. Mol. Biol. 9, 39 (why permutation p values count the observed one).
    """
    check_is(members, MEMBERS, by="hc.overlap")
    check_count("draws", draws)
    members = _of_sign(members, sign)
    order = ("category", "layer", "head")
    outcome = members["member"].transpose(*order).values
    has_number = members["effect"].transpose(*order).notnull().values
    exists, with_numbers = has_number.any(axis=0), np.asarray(has_number.any(axis=(1, 2)))
    names = [str(name) for name in members["category"].values]
    member = outcome == 1
    undecided = (outcome == 0) & with_numbers[:, None, None] & exists
    count = member.sum(axis=0)
    ks = np.arange(1, len(names) + 1)
    observed = np.array([(count == k).sum() for k in ks])

    result = members.assign_coords(k=ks, other=names)
    result["undecided"] = (order, undecided)
    result["n_categories"] = (order[1:], count.astype(np.int8))
    result["n_possible"] = (order[1:], (count + undecided.sum(axis=0)).astype(np.int8))
    cells, open_cells = (rows.reshape(len(names), -1) for rows in (member, undecided))
    sets = [_set_text(names, *cell) for cell in zip(cells.T, open_cells.T, strict=True)]
    result["set"] = (order[1:], np.array(sets, dtype=str).reshape(count.shape))
    result["observed"] = ("k", observed)
    for end, bound in zip(("least", "most"), count_bounds(cells, open_cells), strict=True):
        result[f"observed_{end}"] = ("k", bound)
    layers = np.broadcast_to(np.arange(member.shape[1])[:, None], exists.shape)[exists]
    for suffix, blocks in (("", np.full_like(layers, -1)), ("_within_layers", layers)):
        counts = _chance_counts(member[:, exists], blocks, names, draws=draws, seed=seed)
        result[f"expected{suffix}"] = ("k", counts.mean(axis=0))
        result[f"p{suffix}"] = ("k", (1 + (counts >= observed).sum(axis=0)) / (1 + draws))
    pairs = ("category", "other")
    judged = np.outer(with_numbers, with_numbers)
    indices = zip(("", "_least", "_most"), (jaccards(cells), *jaccard_bounds(cells, open_cells)), strict=True)
    for suffix, jaccard in indices:
        result[f"jaccard{suffix}"] = (pairs, np.where(judged, jaccard, np.nan))
    if "resampled_member" in members:
        resampled = members["resampled_member"].transpose("resample", *order).values
        spread = np.nan_to_num(jaccards(resampled.reshape(len(resampled), len(names), -1)), nan=0.0)
        drawable = members["probability"].notnull().any(order[1:]).values
        unknown = np.isnan(result["jaccard"].values) | ~np.outer(drawable, drawable)
        for name, quantile in (("jaccard_low", 0.025), ("jaccard_high", 0.975)):
            bound = np.quantile(spread, quantile, axis=0, method="inverted_cdf")
            result[name] = (pairs, np.where(unknown, np.nan, bound))
    return result


def _set_text(names: list[str], inside: Bool[np.ndarray, " category"], undecided: Bool[np.ndarray, " category"]) -> str:
    n = int(undecided.sum())
    return " ".join(filter(None, ["+".join(itertools.compress(names, inside)), f"({n} undecided)" if n else ""]))


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
    """Heads in exactly k categories after placing each category's members at random within each block of heads.

    Only numbers are drawn, in the order of the categories' names: of the heads in exactly 0, 1, .. so far, those in the
    next.
    """
    rows = sorted(zip(names, member, strict=True), key=lambda row: row[0])
    counts = np.zeros((draws, len(names) + 1), dtype=np.int64)
    for block in np.unique(blocks):
        inside = blocks == block
        in_exactly = np.zeros((len(names) + 1, draws), dtype=np.int64)
        in_exactly[0] = inside.sum()
        for placed, (name, row) in enumerate(rows):
            if not row[inside].any():
                continue
            rng = stream(seed, name, "overlap by chance", str(block))
            others, members = np.full(draws, inside.sum()), np.full(draws, row[inside].sum())
            for k in range(placed, -1, -1):
                of_k = in_exactly[k].copy()
                others -= of_k
                chosen = rng.hypergeometric(of_k, others, members)
                members -= chosen
                in_exactly[k] -= chosen
                in_exactly[k + 1] += chosen
        counts += in_exactly.T
    return counts[:, 1:]


def count_bounds(
    inside: Bool[np.ndarray, "*draw category head"], undecided: Bool[np.ndarray, "*draw category head"]
) -> tuple[Int[np.ndarray, "*draw k"], Int[np.ndarray, "*draw k"]]:
    """Least and most heads in exactly k = 1..n categories: those that must be, and those that can be."""
    certain = inside.sum(axis=-2)[..., None, :]
    possible = certain + undecided.sum(axis=-2)[..., None, :]
    ks = np.arange(1, inside.shape[-2] + 1)[:, None]
    can_be = (certain <= ks) & (ks <= possible)
    return (can_be & (certain == possible)).sum(axis=-1), can_be.sum(axis=-1)


def jaccard_bounds(
    inside: Bool[np.ndarray, "category head"], undecided: Bool[np.ndarray, "category head"]
) -> tuple[Float[np.ndarray, "category category"], Float[np.ndarray, "category category"]]:
    """Least and most heads in both of two categories as a share of those in either; NaN where neither can have any.

    Least: undecided heads are in one of both. Most: they are in wherever the head can be in both, else out.
    """
    possible = inside | undecided
    n_inside, n_possible = (rows.astype(np.float64) @ rows.T for rows in (inside, possible))
    in_one = inside.astype(np.float64) @ ~possible.T
    can_be_in_one = possible.sum(axis=1)[:, None] + possible.sum(axis=1) - n_possible
    must_be_in_one = n_possible + in_one + in_one.T
    nobody = can_be_in_one == 0
    least, most = (
        np.where(nobody, np.nan, both / np.maximum(either, 1))
        for both, either in ((n_inside, can_be_in_one), (n_possible, must_be_in_one))
    )
    for bound in (least, most):
        np.fill_diagonal(bound, np.where(np.diag(nobody), np.nan, 1.0))
    return least, most
