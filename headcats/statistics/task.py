"""Numbers for every head of one task: effect, standard error, reliability. Plain arrays, no labels.

Prompts that ask the same query share their noise, so nothing here treats prompts as independent: the **query item** is
the unit that is resampled and split.

An effect is a ratio, `mean(differences) / mean(gaps)`, so each prompt weighs the same and numerator and denominator are
resampled together. Intervals and p values come from `headcats.statistics.pooled_null`, over all tasks.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Float32, Shaped

from headcats.base.errors import DataError
from headcats.statistics.distributions import t_quantile
from headcats.statistics.pooled_null import CONFIDENCE, pooled_null, scatters, standard_errors
from headcats.statistics.random_streams import stream

# Enough for the interval of an overlap, few enough to keep for every head and task.
RESAMPLES = 400
SPLITS = 100
# Skewness from which on, in either direction, a p value is not trusted alone.
SKEWED = 2.0


@dataclass(frozen=True)
class PromptEffects:
    """Effects of every head on one task's prompts, before anything is averaged."""

    effect: Float[np.ndarray, "prompt head"]
    """Difference the intervention makes, in the metric's own unit; positive = the head helps."""
    gap: Float[np.ndarray, " prompt"]
    """Clean minus corrupted metric."""
    item: Shaped[np.ndarray, " prompt"]
    """Query item of each prompt: the cluster."""


class Estimate(NamedTuple):
    """One task, every head; effects in shares of the gap, `raw` and the gaps in the metric's unit."""

    effect: Float[np.ndarray, " head"]
    raw: Float[np.ndarray, " head"]
    standard_error: Float[np.ndarray, " head"]
    """Standard error of the effect, by the scatter of items around it."""
    scatter: Float[np.ndarray, "item head"]
    """Share of each item in the deviation of the effect; items in the order of `items`, rows sum to 0."""
    skewness: Float[np.ndarray, " head"]
    """Skewness of the scatter."""
    resampled: Float32[np.ndarray, "resample head"]
    """Effects in 400 bootstrap draws of items."""
    items: Shaped[np.ndarray, " item"]
    gap: float
    gap_low: float
    gap_high: float
    reliability: float
    n: int

    @property
    def n_items(self) -> int:
        """Number of query items."""
        return len(self.items)


def estimate(prompts: PromptEffects, *, task: str, seed: int) -> Estimate:
    """Effect and scatter of every head on one task: `effect = mean(differences) / mean(gaps)`.

    Heads with a value that is not finite are NaN throughout; unless the 95 % t interval of the gap over items lies
    above 0, every head is. A single item has no scatter, and no interval of the gap either, unless all its prompts
    agree.
    """
    if not len(prompts.gap):
        raise DataError(f"Task {task!r} has no prompts to estimate from.")
    finite = np.isfinite(prompts.effect).all(axis=0)
    effects = prompts.effect if finite.all() else prompts.effect[:, finite]
    effects = effects.astype(np.float64, copy=False)
    gaps = np.where(np.isfinite(prompts.gap), prompts.gap, np.nan).astype(np.float64)
    items, cluster = np.unique(prompts.item, return_inverse=True)
    members = (np.arange(len(items))[:, None] == cluster).astype(np.float64)
    sums, gap_sums, raw = members @ effects, members @ gaps, effects.mean(axis=0)

    gap = float(gaps.mean())
    gap_low, gap_high = _t_interval(gap, gap_sums - gap * members.sum(axis=1), len(gaps))
    # A single item has no variance: its gap is settled only where its prompts agree, up to rounding.
    if len(items) == 1 and np.ptp(gaps) <= 1e-6 * abs(gap):
        gap_low = gap_high = gap
    effect, skewness = np.full((2, len(raw)), np.nan)
    resampled, scatter = np.full((RESAMPLES, len(raw)), np.nan, dtype=np.float32), np.full(sums.shape, np.nan)
    if gap_low > 0:
        effect = raw / gap
        scatter = (sums - effect * gap_sums[:, None]) / gap_sums.sum()
        if len(items) > 1:
            weights = item_weights(len(items), draws=RESAMPLES, rng=stream(seed, task, "bootstrap"))
            gap_draws = weights @ gap_sums
            np.divide(
                weights @ sums, np.where(gap_draws > 0, gap_draws, np.nan)[:, None], out=resampled, casting="same_kind"
            )
            skewness = skewness_of(scatter)
    return Estimate(
        effect=_of_all(effect, finite),
        raw=_of_all(raw, finite),
        standard_error=_of_all(standard_errors(scatter), finite),
        scatter=_of_all(scatter, finite),
        skewness=_of_all(skewness, finite),
        resampled=_of_all(resampled, finite),
        items=items,
        gap=gap,
        gap_low=gap_low,
        gap_high=gap_high,
        reliability=reliability(sums, rng=stream(seed, task, "split halves")),
        n=len(gaps),
    )


def _of_all(values: Float[np.ndarray, "*any _"], finite: Bool[np.ndarray, " head"]) -> Float[np.ndarray, "*any head"]:
    """Numbers of all heads: NaN for those that are not finite."""
    if finite.all():
        return values
    everywhere = np.full((*values.shape[:-1], len(finite)), np.nan, dtype=values.dtype)
    everywhere[..., finite] = values
    return everywhere


def skewness_of(scatter: Float[np.ndarray, "item head"]) -> Float[np.ndarray, " head"]:
    """Third moment of what sums to 0, over the cube of the standard deviation; 0 where only rounding scatters."""
    squares = scatter**2
    spread = np.sqrt(squares.mean(axis=0))
    cubes = (squares * scatter).mean(axis=0)  # numpy's third power is ten times slower
    skewness = np.divide(cubes, spread**3, where=scatters(scatter), out=np.zeros_like(cubes))
    return np.where(np.isnan(spread), np.nan, skewness)


def doubtful(
    effect: Float[np.ndarray, "test head"],
    skewness: Float[np.ndarray, "test head"],
    scatter: Sequence[Float[np.ndarray, "_ head"]],
) -> Bool[np.ndarray, "test head"]:
    """Where p of "no effect" cannot be trusted: skewed scatter, or an effect that items not seen could undo.

    Of m items one can miss, at 95 %, 3 / m of all (the rule of three), which may deviate as the head's largest item
    does.
    """
    largest = np.fmax.reduce([np.abs(values).max(axis=0) * len(values) * scatters(values) for values in scatter])
    unseen = np.stack([3 / len(values) * largest for values in scatter])
    return np.where(np.isnan(effect), False, (np.abs(effect) < unseen) | (np.abs(skewness) > SKEWED))


def intervals(
    estimates: Mapping[str, Estimate], *, seed: int
) -> dict[str, tuple[Float[np.ndarray, " head"], Float[np.ndarray, " head"]]]:
    """Task -> low and high ends of the 95 % intervals of its effects, by the scatter of all tasks."""
    null = pooled_null({task: result.scatter for task, result in estimates.items()}, seed=seed)
    return {task: null.interval(task, result.effect, result.standard_error) for task, result in estimates.items()}


def mean_interval(
    values: Float[np.ndarray, " prompt"], item: Shaped[np.ndarray, " prompt"]
) -> tuple[float, float, float]:
    """Mean, low and high of one number per prompt: the 95 % t interval over items; NaN ends for a single item."""
    values = values.astype(np.float64)
    mean = float(values.mean())
    _, cluster = np.unique(item, return_inverse=True)
    return mean, *_t_interval(mean, np.bincount(cluster, weights=values - mean), len(values))


def _t_interval(mean: float, deviations: Float[np.ndarray, " item"], n: int) -> tuple[float, float]:
    """95 % interval of a mean of `n` values, from the sums of its deviations by item."""
    if len(deviations) < 2:
        return math.nan, math.nan
    half = float(t_quantile((1 - CONFIDENCE) / 2, len(deviations) - 1) * standard_errors(deviations[:, None])[0]) / n
    return mean - half, mean + half


def reliability(sums: Float[np.ndarray, "item head"], *, rng: np.random.Generator) -> float:
    """Split-half reliability of a task's profile over heads, by item: Spearman-Brown of the mean of 100 correlations.

    `2 r / (1 + r)`, in [-1, 1], averaged first because the formula runs off to minus infinity for single negative r.
    NaN below 2 items, below 3 heads, or where no split has variance in both halves.
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


def item_weights(n_items: int, *, draws: int, rng: np.random.Generator) -> Float[np.ndarray, "draw item"]:
    """Bootstrap weight of every item in every draw, summing to the number of items; a single item weighs 1.

    Of m items m - 1 are drawn with replacement and weigh m / (m - 1) each: drawing m would understate the variance.

    References:
        Rao & Wu (1988), J. Am. Stat. Assoc. 83, 231-241.
    """
    if n_items == 1:
        return np.ones((draws, 1))
    picks = rng.integers(n_items, size=(draws, n_items - 1)) + n_items * np.arange(draws)[:, None]
    counts = np.bincount(picks.ravel(), minlength=draws * n_items).reshape(draws, n_items)
    return counts * (n_items / (n_items - 1))
