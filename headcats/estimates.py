"""Numbers for every head of one task: effect, interval, p value, reliability. Plain arrays, no labels.

Prompts that ask the same query share their noise, so nothing here treats prompts as independent: the **query item** is
the unit that is flipped, resampled and split. (Sign flips of single prompts called something in most null runs at a
within-item correlation of .5; flips of items keep the nominal level.)

An effect is a ratio, `mean(differences) / mean(gaps)`, so each prompt weighs the same and numerator and denominator are
resampled together.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Float32, Int, Shaped
from scipy import stats

from headcats.errors import DataError
from headcats.streams import stream

CONFIDENCE = 0.95
RESAMPLES = 9_999
EXACT_ITEMS = 14
SPLITS = 100

# Elements of one block of (head, draw) products: small enough to stay in a core's cache.
_BLOCK = 2**18


@dataclass(frozen=True)
class PromptEffects:
    """What one task's prompts say about every head, before anything is averaged."""

    effect: Float[np.ndarray, "prompt head"]
    """Difference the intervention makes, in the metric's own unit; positive = the head helps."""
    gap: Float[np.ndarray, " prompt"]
    """Clean minus corrupted metric."""
    item: Shaped[np.ndarray, " prompt"]
    """Query item of each prompt: the cluster."""
    distractor: Shaped[np.ndarray, " prompt"]
    """Distractor task of each prompt: the stratum ("" where there is none)."""


class Estimate(NamedTuple):
    """One task, every head. `effect`, `low`, `high` in shares of the gap; `raw` and the gaps in the metric's unit."""

    effect: Float[np.ndarray, " head"]
    low: Float[np.ndarray, " head"]
    high: Float[np.ndarray, " head"]
    p_value: Float[np.ndarray, " head"]
    raw: Float[np.ndarray, " head"]
    gap: float
    gap_low: float
    gap_high: float
    reliability: float
    n: int
    n_items: int
    smallest_p: float


def estimate(prompts: PromptEffects, *, task: str, seed: int, draws: int = RESAMPLES) -> Estimate:
    """Effect, 95 % interval and two-sided p of every head on one task.

    `effect = mean(differences) / mean(gaps)`. The p value tests `mean(differences) = 0` by `sign_flip_p`; the interval
    is the percentile interval of `item_weights` draws of the ratio; a draw whose resampled gap is not positive counts
    as unbounded on both sides. Heads with a value that is not finite are NaN throughout; unless the interval of the
    gap, from the same draws, lies above 0, every head is (the ratio means nothing). With a single item the interval of
    the heads is NaN, and that of the gap too unless all its prompts agree.

    Args:
        prompts: Differences and gaps of the task's prompts.
        task: Name that the random streams derive from.
        seed: Seed of the study.
        draws: Sign draws, see `draws_for`.

    Raises:
        DataError: no prompts.
    """
    if not len(prompts.gap):
        raise DataError(f"Task {task!r} has no prompts to estimate from.")
    known = np.isfinite(prompts.effect).all(axis=0)
    effects = np.where(known, prompts.effect, 0.0).astype(np.float64)
    gaps = np.where(np.isfinite(prompts.gap), prompts.gap, np.nan).astype(np.float64)
    items, cluster = np.unique(prompts.item, return_inverse=True)
    members = (np.arange(len(items))[:, None] == cluster).astype(np.float64)
    sums, gap_sums = members @ effects, members @ gaps

    gap, gap_low, gap_high = float(gaps.mean()), math.nan, math.nan
    raw = np.where(known, effects.mean(axis=0), np.nan)
    effect, low, high, p_value = np.full((4, len(known)), np.nan)
    groups = item_groups(cluster, prompts.distractor)
    weights = item_weights(groups, draws=RESAMPLES, rng=stream(seed, task, "bootstrap"))
    # A single item has no variance to resample: its gap is settled only where its prompts agree, up to rounding.
    if len(items) > 1 or np.ptp(gaps) <= 1e-6 * abs(gap):
        bounds = _ratio_interval(gap_sums[:, None], members.sum(axis=1), weights)
        gap_low, gap_high = (float(bound[0]) for bound in bounds)
    if gap_low > 0:
        effect = raw / gap
        p_value = np.where(known, sign_flip_p(sums, draws=draws, rng=stream(seed, task, "sign flips")), np.nan)
        if len(items) > 1:
            low, high = (np.where(known, bound, np.nan) for bound in _ratio_interval(sums, gap_sums, weights))
    return Estimate(
        effect=effect,
        low=low,
        high=high,
        p_value=p_value,
        raw=raw,
        gap=gap,
        gap_low=gap_low,
        gap_high=gap_high,
        reliability=reliability(sums[:, known], rng=stream(seed, task, "split halves")),
        n=len(gaps),
        n_items=len(items),
        smallest_p=smallest_p(len(items), draws=draws),
    )


def mean_interval(
    values: Float[np.ndarray, " prompt"],
    item: Shaped[np.ndarray, " prompt"],
    distractor: Shaped[np.ndarray, " prompt"],
    *,
    task: str,
    seed: int,
) -> tuple[float, float, float]:
    """Mean, low and high of one number per prompt (a gap, an accuracy), by the bootstrap of items."""
    prompts = PromptEffects(values[:, None].astype(np.float64), np.ones(len(values)), item, distractor)
    result = estimate(prompts, task=task, seed=seed)
    return float(result.effect[0]), float(result.low[0]), float(result.high[0])


def sign_flip_p(
    sums: Float[np.ndarray, "item head"], *, draws: int, rng: np.random.Generator
) -> Float[np.ndarray, " head"]:
    """Two-sided p of the sign-flip test on the sum over items; one sign per item, the same signs for all heads.

    `p = (1 + hits) / (1 + draws)`, a hit being a draw with `|sum of signed items| >= |observed sum|`. With at most 14
    items all sign vectors are enumerated instead and `p = hits / 2^items`, the observed vector among the hits. The
    null is that an item's sum is symmetric around 0; nothing is assumed about prompts of one item or about heads.
    """
    n_items, n_heads = sums.shape
    size = np.abs(sums).sum(axis=0)
    shares = (sums / np.where(size > 0, size, 1.0)).T.astype(np.float32)
    # Sums that are equal in exact arithmetic differ in their last bits, by the order of addition: such ties are hits.
    reached = np.abs(shares.sum(axis=1, keepdims=True)) - n_items * np.finfo(np.float32).eps
    exact = n_items <= EXACT_ITEMS
    blocks = _all_signs(n_items) if exact else _random_signs(n_items, draws, max(256, _BLOCK // n_heads), rng)
    hits, total = np.zeros(n_heads, dtype=np.int64), 0
    for signs in blocks:
        flipped = shares @ signs
        hits += np.count_nonzero(np.abs(flipped, out=flipped) >= reached, axis=1)
        total += signs.shape[1]
    return hits / total if exact else (1 + hits) / (1 + total)


def _all_signs(n_items: int) -> Iterator[Float32[np.ndarray, "item draw"]]:
    # The first item keeps its sign: a vector and its opposite give the same absolute sum, so half of them tell all.
    vectors = np.arange(2 ** (n_items - 1), dtype=np.int64)
    bits = np.arange(n_items)[:, None]
    yield (1 - 2 * ((vectors << 1 >> bits) & 1)).astype(np.float32)


def _random_signs(
    n_items: int, draws: int, block: int, rng: np.random.Generator
) -> Iterator[Float32[np.ndarray, "item draw"]]:
    # Whole 64-bit words per draw: the signs do not depend on the blocks' size, nor the first draws on their number.
    words = -(-n_items // 64)
    for start in range(0, draws, block):
        size = min(block, draws - start)
        drawn = rng.integers(0, 2**64, size=(size, words), dtype=np.uint64).astype("<u8")
        bits = np.unpackbits(drawn.view(np.uint8), axis=1, count=n_items, bitorder="little")
        yield 1 - 2 * bits.T.astype(np.float32)


def item_groups(
    cluster: Int[np.ndarray, " prompt"], distractor: Shaped[np.ndarray, " prompt"]
) -> list[Int[np.ndarray, " _"]]:
    """Items that may stand in for each other in a resample: those seen with the same set of distractor tasks.

    Where each item meets one distractor task, the groups are the distractor tasks; where every item meets all of them,
    there is one group; in both cases each resample keeps the balance over distractor tasks. An item alone in its group
    would add no variance at all, so single items are pooled (collapsed strata), which makes intervals wider rather
    than too narrow.
    """
    met: dict[int, set[str]] = {}
    for index, name in zip(cluster.tolist(), distractor.tolist(), strict=True):
        met.setdefault(index, set()).add(str(name))
    by_set: dict[tuple[str, ...], list[int]] = {}
    for index in sorted(met):
        by_set.setdefault(tuple(sorted(met[index])), []).append(index)
    groups = [by_set[key] for key in sorted(by_set) if len(by_set[key]) > 1]
    single = sorted(index for group in by_set.values() if len(group) == 1 for index in group)
    if len(single) == 1 and groups:
        max(groups, key=len).extend(single)
    elif single:
        groups.append(single)
    return [np.array(sorted(group)) for group in groups]


def item_weights(
    groups: list[Int[np.ndarray, " _"]], *, draws: int, rng: np.random.Generator
) -> Float[np.ndarray, "draw item"]:
    """Bootstrap weight of every item in every draw, summing to the group's size within each of `groups`.

    From a group of m items m - 1 are drawn with replacement and weigh m / (m - 1) each: drawing m would understate the
    variance by (m - 1) / m, a quarter of it where 4 items share a distractor task.

    References:
        Rao & Wu (1988), J. Am. Stat. Assoc. 83, 231-241.
    """
    weights = np.ones((draws, sum(len(group) for group in groups)))
    for group in groups:
        m = len(group)
        if m > 1:
            cells = rng.integers(m, size=(draws, m - 1)) + m * np.arange(draws)[:, None]
            counts = np.bincount(cells.ravel(), minlength=draws * m).reshape(draws, m)
            weights[:, group] = counts * (m / (m - 1))
    return weights


def _ratio_interval(
    sums: Float[np.ndarray, "item head"],
    gap_sums: Float[np.ndarray, " item"],
    weights: Float[np.ndarray, "draw item"],
) -> tuple[Float[np.ndarray, " head"], Float[np.ndarray, " head"]]:
    draws, n_heads = len(weights), sums.shape[1]
    gaps = weights @ gap_sums
    usable = gaps > 0
    rank = max(1, math.floor((draws + 1) * (1 - CONFIDENCE) / 2 + 1e-9))
    low, high = np.empty(n_heads), np.empty(n_heads)
    step = max(1, 2 * _BLOCK // draws)
    for start in range(0, n_heads, step):
        heads = slice(start, start + step)
        ratios = sums.T[heads] @ weights.T / np.where(usable, gaps, 1.0)
        if usable.all():
            ratios.partition((rank - 1, draws - rank), axis=1)
            low[heads], high[heads] = ratios[:, rank - 1], ratios[:, draws - rank]
        else:
            low[heads] = np.partition(np.where(usable, ratios, -np.inf), rank - 1, axis=1)[:, rank - 1]
            high[heads] = np.partition(np.where(usable, ratios, np.inf), draws - rank, axis=1)[:, draws - rank]
    return low, high


def reliability(sums: Float[np.ndarray, "item head"], *, rng: np.random.Generator) -> float:
    """Split-half reliability of a task's profile over heads: Spearman-Brown of the mean correlation of 100 splits by
    item.

    `2 r / (1 + r)`, r the mean over splits of the correlation over heads between the halves' summed differences.
    Averaging comes first because the formula runs off to minus infinity in single splits with a negative r. At most 1,
    cut at -1; NaN below 2 items, below 3 heads, or where no split has variance in both halves.
    """
    n_items, n_heads = sums.shape
    if n_items < 2 or n_heads < 3:
        return math.nan
    first = rng.permuted(np.tile(np.arange(n_items) < n_items // 2, (SPLITS, 1)), axis=1).astype(np.float64)
    halves = []
    for half in (first, 1 - first):
        profile = half @ sums
        profile -= profile.mean(axis=1, keepdims=True)
        size = np.sqrt((profile**2).sum(axis=1, keepdims=True))
        flat = size <= 1e-12 * np.abs(sums).sum()
        halves.append(np.divide(profile, size, where=~flat, out=np.full_like(profile, np.nan)))
    correlations = (halves[0] * halves[1]).sum(axis=1)
    if np.isnan(correlations).all():
        return math.nan
    r = float(np.nanmean(correlations))
    return max(-1.0, 2 * r / (1 + r)) if r > -1 else -1.0


def draws_for(tests: int, *, alpha: float) -> int:
    """Sign draws needed so that one head among `tests` can reach `q <= alpha`: `max(9999, ceil(2 tests / alpha))`."""
    return max(RESAMPLES, math.ceil(2 * tests / alpha))


def smallest_p(n_items: int, *, draws: int) -> float:
    """Smallest two-sided p within reach: the larger of 2^(1 - n_items) and 1 / (draws + 1)."""
    return max(2.0 ** (1 - n_items), 1 / (draws + 1))


def discoveries_needed(smallest: float, *, tests: int, alpha: float) -> int:
    """How many heads must reach `smallest` at once before Benjamini-Hochberg calls them; above `tests`: never."""
    return max(1, math.ceil(smallest * tests / alpha - 1e-9))


def benjamini_hochberg(p_values: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
    """The q values over all entries together; NaN entries are left out of the count and stay NaN.

    References:
        Benjamini & Hochberg (1995), J. R. Stat. Soc. B 57, 289-300.
    """
    q_values = np.full(p_values.shape, np.nan)
    known = ~np.isnan(p_values)
    if known.any():
        q_values[known] = stats.false_discovery_control(p_values[known], method="bh")
    return q_values
