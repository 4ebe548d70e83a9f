"""What the studentized effect of a head without effect looks like, from the data: pooled over heads and tasks.

The statistic is `(effect - tested effect) / (standard error + floor)`; the floor is the tenth percentile of all
standard errors beyond rounding, so that a head whose items happen to agree does not stand out by that alone, and never
below `ROUNDING`, so that effects no larger than rounding do not either. The distribution of the statistic under
the null comes from the scatter of items around their effects: items are drawn with replacement, the statistic of the
draw is computed, and the draws of all heads and tasks are put together. A p value is a rank among them.

Pooling calibrates the test on average over heads and tasks: skew and rare outliers that one head's few items cannot
show are seen in the others. It does not calibrate each head by itself. The derivation is in docs/tests_of_heads.md.

References:
    Tusher, Tibshirani & Chu (2001), PNAS 98, 5116-5121, for the floor and the pooled draws; Hall (1992), The Bootstrap
    and Edgeworth Expansion, for the studentized bootstrap.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Float32, Int

from headcats.statistics.distributions import t_quantile
from headcats.statistics.random_streams import stream

CONFIDENCE = 0.95
FLOOR_PERCENTILE = 10
# Draws over all heads and tasks together, and per test: a single discovery among all tests is within reach.
LEAST_DRAWS, DRAWS_PER_TEST = 50_000, 50
KEPT_DRAWS = 100
"""Draws that are kept whole for every task: studies in which no head has an effect."""
ROUNDING = 1e-5
"""Share of the mean gap: items that deviate by no more do so by the rounding of fp32 metrics, which differs between
processors. Where the gap is below a nat, logits are large or models compute in 16 bits, rounding can be larger, and
counts as scatter."""
# Numbers of items that get a distribution of their own; others use that of the next smaller one, which is wider.
_LEVELS = 8
# Ranks that are kept of every distribution, from each end; neighbours differ by 4 %.
_RANKS = 320
# Elements of a block of draws.
_BLOCK = 2**22


@dataclass(frozen=True)
class PooledNull:
    """Null distribution of the studentized effect."""

    floor: float
    """Added to every standard error; in shares of the gap, at least `ROUNDING`."""
    draws: int
    """Number of draws in the distributions."""
    rank: Int[np.ndarray, " rank"]
    """Number of draws above each kept one."""
    statistic: Mapping[str, Float[np.ndarray, " rank"]]
    """Task -> the kept draws for its number of items, largest first."""
    kept: Mapping[str, Float32[np.ndarray, "draw head"]]
    """Task -> statistics of all its heads in `KEPT_DRAWS` draws of its items; NaN where a head has no scatter."""

    def interval(
        self, task: str, effect: Float[np.ndarray, " head"], standard_error: Float[np.ndarray, " head"]
    ) -> tuple[Float[np.ndarray, " head"], Float[np.ndarray, " head"]]:
        """95 % studentized interval of effects on a task."""
        width, null, tail = standard_error + self.floor, self.statistic[task], (1 - CONFIDENCE) / 2
        high = critical_value(tail, null, self.rank, self.draws)
        low = -critical_value(tail, -null[::-1], self.rank, self.draws)
        return effect - width * high, effect - width * low


def pooled_null(scatter: Mapping[str, Float[np.ndarray, "item head"]], *, seed: int) -> PooledNull:
    """The null distribution for every task, from the scatter of items around the effects of all tasks."""
    errors = {task: standard_errors(values) for task, values in scatter.items()}
    pool = np.concatenate([errors[task][scatters(values)] for task, values in scatter.items()] or [[]])
    pool = pool[np.isfinite(pool)]
    floor = max(ROUNDING, float(np.percentile(pool, FLOOR_PERCENTILE))) if len(pool) else ROUNDING
    n_items = {task: len(values) for task, values in scatter.items()}
    levels = np.unique([n for n in n_items.values() if n > 1] or [2])
    if len(levels) > _LEVELS:
        levels = np.unique(np.quantile(levels, np.linspace(0, 1, _LEVELS), method="lower"))
    per_head = math.ceil(max(LEAST_DRAWS, DRAWS_PER_TEST * len(pool)) / max(1, len(pool)))
    drawn: dict[int, list[np.ndarray]] = {int(level): [] for level in levels}
    kept = {}
    for task, values in scatter.items():
        varies = scatters(values)
        kept[task] = np.full((KEPT_DRAWS, values.shape[1]), np.nan, dtype=np.float32)
        if len(values) < 2 or not varies.any():
            continue
        rng = stream(seed, task, "pooled null")
        (kept[task][:, varies],) = _statistics(values[:, varies], [len(values)], floor, draws=KEPT_DRAWS, rng=rng)
        of_levels = _statistics(values[:, varies], list(drawn), floor, draws=per_head, rng=rng)
        for level, draws_of_level in zip(drawn, of_levels, strict=True):
            drawn[level].append(draws_of_level.ravel())
    draws = sum(map(len, drawn[int(levels[0])])) or LEAST_DRAWS
    rank = _kept_ranks(draws)
    of_level = {
        level: np.sort(np.concatenate(parts))[::-1][rank] if parts else t_quantile((rank + 0.5) / draws, level - 1)
        for level, parts in drawn.items()
    }
    nearest = {
        task: max((int(level) for level in levels if level <= n), default=int(levels[0])) for task, n in n_items.items()
    }
    return PooledNull(floor, draws, rank, {task: of_level[level] for task, level in nearest.items()}, kept)


def scatters(scatter: Float[np.ndarray, "item head"]) -> Bool[np.ndarray, " head"]:
    """True for heads whose items deviate by more than rounding; False where they are NaN."""
    return len(scatter) * np.abs(scatter).max(axis=0) > ROUNDING


def standard_errors(scatter: Float[np.ndarray, "item head"]) -> Float[np.ndarray, " head"]:
    """Standard error of a sum of items, from their scatter around 0; NaN for a single item."""
    n = len(scatter)
    return np.sqrt((scatter**2).sum(axis=0) * n / (n - 1)) if n > 1 else np.full(scatter.shape[1], np.nan)


def rank_p(
    statistic: Float[np.ndarray, "*cell"], null: Float[np.ndarray, " rank"], rank: Int[np.ndarray, " rank"], draws: int
) -> Float[np.ndarray, "*cell"]:
    """One-sided p: `(1 + draws that reach the statistic) / (1 + draws)`, rounded up to a kept rank; NaN stays."""
    above = np.append(rank, draws)[np.searchsorted(-null, -statistic, side="right")]
    return np.where(np.isnan(statistic), np.nan, (1 + above) / (1 + draws))


def critical_value(
    p_value: float, null: Float[np.ndarray, " rank"], rank: Int[np.ndarray, " rank"], draws: int
) -> float:
    """The kept draw above which `rank_p` is at most `p_value`, or the largest one."""
    place = int(np.searchsorted(rank, p_value * (1 + draws) - 1, side="right")) - 1
    return float(null[max(0, place)])


def _kept_ranks(draws: int) -> Int[np.ndarray, " rank"]:
    from_end = np.unique(np.geomspace(1, max(1, draws // 2), _RANKS).astype(np.int64)) - 1
    return np.unique(np.concatenate([from_end, draws - 1 - from_end]))


def _statistics(
    scatter: Float[np.ndarray, "item head"], levels: list[int], floor: float, *, draws: int, rng: np.random.Generator
) -> list[Float32[np.ndarray, "draw head"]]:
    """Studentized means of the first n of the same drawn items, for every n of `levels`."""
    n_items, n_heads = scatter.shape
    # Per item in the unit of the effect. The mean of what is drawn from is 0 up to rounding.
    values = scatter * n_items
    squared = values**2
    parts: list[list[np.ndarray]] = [[] for _ in levels]
    step = max(1, _BLOCK // max(*levels, n_items, n_heads))
    for start in range(0, draws, step):
        picks = rng.integers(n_items, size=(min(step, draws - start), max(levels)))
        places = picks + n_items * np.arange(len(picks))[:, None]
        for part, n in zip(parts, levels, strict=True):
            # All heads are drawn alike: how often each item was, times what it adds.
            counts = np.bincount(places[:, :n].ravel(), minlength=len(picks) * n_items).reshape(len(picks), n_items)
            weights = counts.astype(np.float64)
            mean = weights @ values / n
            variance = np.maximum(weights @ squared / n - mean**2, 0.0) / (n - 1)
            error = np.sqrt(variance) + floor
            part.append((mean / error).astype(np.float32))
    return [np.concatenate(part) for part in parts]
