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
from jaxtyping import Float, Float32, Shaped

from headcats.errors import DataError
from headcats.statistics.bootstrap import RESAMPLES, item_groups, item_weights, ratio_interval
from headcats.statistics.multiplicity import smallest_p
from headcats.statistics.random_streams import stream

# Draws that are kept whole: enough for the interval of an overlap, few enough to keep for every head and task.
KEPT_RESAMPLES = 400
FLIPS = 100
SPLITS = 100
# With no more items, all sign vectors are enumerated.
EXACT_ITEMS = 14
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
    """One task, every head; effects in shares of the gap, `raw` and the gaps in the metric's unit."""

    effect: Float[np.ndarray, " head"]
    low: Float[np.ndarray, " head"]
    high: Float[np.ndarray, " head"]
    p_value: Float[np.ndarray, " head"]
    raw: Float[np.ndarray, " head"]
    standard_error: Float[np.ndarray, " head"]
    """Of the effect, by the scatter of items around it."""
    resampled: Float32[np.ndarray, "resample head"]
    """Effects in the first 400 bootstrap draws of items."""
    flipped: Float32[np.ndarray, "flip head"]
    """Effects if no head had any: what items scatter around the effect, with random signs (100 draws)."""
    gap: float
    gap_low: float
    gap_high: float
    reliability: float
    n: int
    n_items: int
    smallest_p: float


def estimate(prompts: PromptEffects, *, task: str, seed: int, draws: int | None = RESAMPLES) -> Estimate:
    """Effect, 95 % interval and two-sided p of every head on one task.

    `effect = mean(differences) / mean(gaps)`. The p value tests `mean(differences) = 0` by `sign_flip_p`; the interval
    is the percentile interval of `item_weights` draws of the ratio; a draw whose resampled gap is not positive counts
    as unbounded on both sides. Heads with a value that is not finite are NaN throughout; unless the interval of the
    gap, from the same draws, lies above 0, every head is (the ratio means nothing). With a single item the interval of
    the heads is NaN, and that of the gap too unless all its prompts agree.

    Args:
        prompts: Differences and gaps of the task's prompts.
        task: Name that the random streams derive from. The signs of `flipped` derive from the items' names alone, so
            that an item which several tasks ask about has the same sign in all of them.
        seed: Seed of the study.
        draws: Sign draws, see `draws_for`; None leaves the p values out (NaN), which take most of the time.

    Raises:
        DataError: no prompts.
    """
    if not len(prompts.gap):
        raise DataError(f"Task {task!r} has no prompts to estimate from.")
    finite = np.isfinite(prompts.effect).all(axis=0)
    effects = np.where(finite, prompts.effect, 0.0).astype(np.float64)
    gaps = np.where(np.isfinite(prompts.gap), prompts.gap, np.nan).astype(np.float64)
    items, cluster = np.unique(prompts.item, return_inverse=True)
    members = (np.arange(len(items))[:, None] == cluster).astype(np.float64)
    sums, gap_sums = members @ effects, members @ gaps

    gap, gap_low, gap_high = float(gaps.mean()), math.nan, math.nan
    raw = np.where(finite, effects.mean(axis=0), np.nan)
    effect, low, high, p_value, standard_error = np.full((5, len(finite)), np.nan)
    resampled = np.full((KEPT_RESAMPLES, len(finite)), np.nan, dtype=np.float32)
    flipped = np.full((FLIPS, len(finite)), np.nan, dtype=np.float32)
    groups = item_groups(cluster, prompts.distractor)
    weights = item_weights(groups, draws=RESAMPLES, rng=stream(seed, task, "bootstrap"))
    # A single item has no variance to resample: its gap is settled only where its prompts agree, up to rounding.
    if len(items) > 1 or np.ptp(gaps) <= 1e-6 * abs(gap):
        bounds = ratio_interval(gap_sums[:, None], members.sum(axis=1), weights)
        gap_low, gap_high = (float(bound[0]) for bound in bounds)
    if gap_low > 0:
        effect = raw / gap
        if draws is not None:
            p_value = np.where(finite, sign_flip_p(sums, draws=draws, rng=stream(seed, task, "sign flips")), np.nan)
        if len(items) > 1:
            low, high = (np.where(finite, bound, np.nan) for bound in ratio_interval(sums, gap_sums, weights))
            first = weights[:KEPT_RESAMPLES]
            gap_draws = first @ gap_sums
            resampled[:, finite] = ((first @ sums) / np.where(gap_draws > 0, gap_draws, np.nan)[:, None])[:, finite]
            scatter = (sums - (effects.mean(axis=0) / gap) * gap_sums[:, None]) / gap_sums.sum()
            scatter *= math.sqrt(len(items) / (len(items) - 1))
            standard_error = np.where(finite, np.sqrt((scatter**2).sum(axis=0)), np.nan)
            signs = [stream(seed, str(item), "null signs").integers(0, 2, size=FLIPS) for item in items]
            flipped[:, finite] = ((1.0 - 2.0 * np.stack(signs, axis=1)) @ scatter)[:, finite]
    return Estimate(
        effect=effect,
        low=low,
        high=high,
        p_value=p_value,
        raw=raw,
        standard_error=standard_error,
        resampled=resampled,
        flipped=flipped,
        gap=gap,
        gap_low=gap_low,
        gap_high=gap_high,
        reliability=reliability(sums[:, finite], rng=stream(seed, task, "split halves")),
        n=len(gaps),
        n_items=len(items),
        smallest_p=smallest_p(len(items), draws=draws or RESAMPLES),
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
    result = estimate(prompts, task=task, seed=seed, draws=None)
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
        bits64 = rng.integers(0, 2**64, size=(size, words), dtype=np.uint64).astype("<u8")
        bits = np.unpackbits(bits64.view(np.uint8), axis=1, count=n_items, bitorder="little")
        yield 1 - 2 * bits.T.astype(np.float32)


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
