"""Numbers for every head of one task: effect, interval, p value, reliability. Plain arrays, no labels.

Prompts that ask the same query share their noise, so nothing here treats prompts as independent: the **query item** is
the unit that is flipped, resampled and split. (Sign flips of single prompts called something in most null runs at a
within-item correlation of .5; flips of items keep the nominal level.)

An effect is a ratio, `mean(differences) / mean(gaps)`, so each prompt weighs the same and numerator and denominator are
resampled together.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Float32, Shaped

from headcats.errors import DataError
from headcats.statistics.bootstrap import RESAMPLES, item_groups, item_weights, ratio_interval
from headcats.statistics.multiplicity import smallest_p
from headcats.statistics.random_streams import stream
from headcats.statistics.sign_flips import sign_flip_p
from headcats.statistics.split_halves import reliability

# Draws that are kept whole: enough for the interval of an overlap, few enough to keep for every head and task.
KEPT_RESAMPLES = 400
FLIPS = 100


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
