"""How many heads categories share, and the number expected by chance."""

import functools
import itertools
import math
from typing import Any

import numpy as np
import xarray as xr
from jaxtyping import Bool, Float, Int
from scipy import special

from headcats.base.bounds import check_count
from headcats.base.errors import DataError, OptionError
from headcats.categories.argument_checks import MEMBERS, OVERLAP, check_is
from headcats.categories.shared_keys import key_sharing_pairs
from headcats.categories.undecided import count_bounds, jaccard_bounds
from headcats.results.head_axes import cell_name, unit_of
from headcats.statistics.agreement import jaccards
from headcats.statistics.random_streams import stream

# Probabilities below this do not change any interval or printed p.
_NEGLIGIBLE = 1e-15
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
    each other, not whether they are specific:** heads that serve everything give a small p too. Heads without a number
    in any category are left out.

    Where heads share keys and values (`kv_head`), it also says whether the members of a category cluster in groups of
    such heads beyond layers: `kv_pairs`, the pairs of members that share them, beside those of members that lie at
    random within their layers. Heads of a group are moved by the same values, so noise that they share counts too.

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
        jaccard_most`; if the memberships were resampled, the 95 % percentile interval `jaccard_low, jaccard_high`
        (resamples in which both are empty count as 0). Resampling adds the noise of the data once more, so the interval
        can lie below a large overlap. Where heads share keys and values `kv_pairs, kv_pairs_expected, kv_pairs_p,
        kv_pairs_q (category)`: exact one-sided p, and q by Benjamini-Hochberg over the categories. See docs/schema.md.

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
    result = result.assign(key_sharing_pairs(members))
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

    Only numbers are drawn: of the heads in exactly 0, 1, .. categories so far, how many are in the next one too.
    Categories are placed in the order of their names, so that the draws do not depend on that of the rows.
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


def exact_sets(overlap: xr.Dataset) -> xr.Dataset:
    """Heads in exactly each set of categories, and in none, with the number expected by chance.

    Undecided heads count as out; `observed_least` and `observed_most` are the heads that are in exactly this set for
    certain, and possibly. Chance is that of `hc.overlap`: categories keep their sizes and are placed independently of
    each other, over all heads or within each layer. The distribution is a chain of hypergeometric ones, computed
    rather than drawn. Categories and heads without numbers are left out.

    Dims `set` (names joined by "+" in the order of the categories, "" for none: 2^n of them, small sets first) and
    `category` (those with numbers). `contains (set, category)`; over `set`: `observed, observed_least, observed_most`,
    `heads` (such as "L0H1, L2H0"), `expected` (mean number of heads; over all sets they sum to the number of heads),
    `low, high` (95 % interval of the number), `p` (at least as many as observed, one-sided), and the last four with the
    suffix `_within_layers`. Attributes of the overlap, with `n_heads`. A DataError without numbers in any category.
    """
    check_is(overlap, OVERLAP, by="exact_sets")
    grids = overlap[["member", "effect", "undecided"]].transpose("category", "layer", "head")
    has_number = grids["effect"].notnull().values
    with_numbers = has_number.any(axis=(1, 2))
    if not with_numbers.any():
        raise DataError("exact_sets expects an overlap with numbers in at least one category; here is none.")
    exists = np.asarray(has_number.any(axis=0))
    names = [str(name) for name in overlap["category"].values[with_numbers]]
    member = grids["member"].values[with_numbers] == 1
    undecided = grids["undecided"].values[with_numbers]
    contains = np.array(sorted(itertools.product((True, False), repeat=len(names)), key=sum))

    rows: list[dict[str, Any]] = []
    unit = unit_of(overlap)
    layers, numbers = np.meshgrid(overlap["layer"].values, overlap["head"].values, indexing="ij")
    blocks = {
        "": [(int(exists.sum()), [int(row.sum()) for row in member])],
        "_within_layers": [
            (int(heads.sum()), [int(row[i].sum()) for row in member]) for i, heads in enumerate(exists) if heads.any()
        ],
    }
    for inside in contains:
        matches = member == inside[:, None, None]
        exact, certain, possible = (
            exists & fits.all(axis=0) for fits in (matches, matches & ~undecided, matches | undecided)
        )
        heads = ", ".join(cell_name(i, j, unit) for i, j in zip(layers[exact], numbers[exact], strict=True))
        counts = {"observed": exact, "observed_least": certain, "observed_most": possible}
        rows.append({name: int(found.sum()) for name, found in counts.items()} | {"heads": heads})
        for suffix, sizes in blocks.items():
            chance = _by_chance(sizes, inside, rows[-1]["observed"])
            rows[-1] |= {f"{name}{suffix}": value for name, value in chance.items()}
    return xr.Dataset(
        {"contains": (("set", "category"), contains)}
        | {name: ("set", [row[name] for row in rows]) for name in rows[0]},
        coords={"set": ["+".join(itertools.compress(names, inside)) for inside in contains], "category": names},
        attrs=overlap.attrs | {"n_heads": int(exists.sum())},
    )


def _by_chance(blocks: list[tuple[int, list[int]]], inside: np.ndarray, observed: int) -> dict[str, float]:
    """Mean, 95 % interval and upper tail of the number of heads of a set that is `inside` some categories.

    `blocks` holds the heads of each block, and how many of them are in each category.
    """
    mean, total = 0.0, np.ones(1)
    for n, sizes in blocks:
        kinds = tuple(sorted(size if has else n - size for size, has in zip(sizes, inside, strict=True)))
        mean += n * float(np.prod([kind / n for kind in kinds]))
        if kinds[0]:
            total = np.convolve(total, _intersection(n, kinds))
    reached = np.cumsum(total)
    low, high = (int(np.searchsorted(reached, share * reached[-1])) for share in (0.025, 0.975))
    return {"expected": mean, "low": low, "high": high, "p": min(1.0, float(total[observed:].sum()))}


@functools.lru_cache(maxsize=4096)
def _intersection(n: int, kinds: tuple[int, ...]) -> Float[np.ndarray, " count"]:
    """Probability of 0, 1, ... elements in the intersection of random subsets of those sizes of n elements."""
    share = np.zeros(kinds[0] + 1)
    share[-1] = 1.0
    for kind in kinds[1:]:
        likely = np.flatnonzero(share > _NEGLIGIBLE)
        few, many = int(likely[0]), int(likely[-1])
        # Hoeffding's bound for sampling without replacement: further from the mean lies less than is negligible.
        reach = math.sqrt(many * math.log(2 / _NEGLIGIBLE) / 2)
        count = np.arange(max(0, int(few * kind / n - reach)), min(many, math.ceil(many * kind / n + reach)) + 1)
        reached = share[likely] @ _hypergeometric(count, n, likely[:, None], kind)
        share = np.zeros(many + 1)
        share[count] = reached
    return share


def _hypergeometric(count: np.ndarray, n: int, marked: np.ndarray, drawn: int) -> Float[np.ndarray, "marked count"]:
    """Probability of `count` marked elements among `drawn` of `n`, by `scipy.stats.hypergeom`'s definition.

    From a table of logarithms of factorials: element by element, as scipy does it, takes twenty times as long.
    """
    factorial = special.gammaln(np.arange(n + 1) + 1.0)
    left, right, missing = marked - count, drawn - count, n - marked - drawn + count
    possible = (left >= 0) & (right >= 0) & (missing >= 0)
    below = [factorial[np.where(possible, part, 0)] for part in (left, right, missing)]
    above = factorial[marked] + factorial[n - marked] + factorial[drawn] + factorial[n - drawn] - factorial[n]
    return np.exp(np.where(possible, above - factorial[count] - sum(below), -np.inf))
