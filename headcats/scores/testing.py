"""One-sided p values of scores: is an effect above, or below, a given one?

The statistic and its null distribution are those of `headcats.statistics.pooled_null`, which `hc.score` saves with the
scores, so that any effect can be tested later.
"""

import numpy as np
import xarray as xr
from jaxtyping import Float

from headcats.statistics.pooled_null import rank_p

Effects = Float[np.ndarray, "*draw task layer head"]


def p_above(scores: xr.Dataset, least: float) -> Effects:
    """P of "the effect is at most `least`": 1 for a single item, at least half the smallest p of the task's items."""
    effects = _values(scores, "effect")
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = (effects - least) / (_values(scores, "standard_error") + scores.attrs["error_floor"])
    return p_of_statistic(scores, np.where(statistic == 0, 0.0, statistic), effects)


def p_below(scores: xr.Dataset, least: float) -> Effects:
    """P of "the effect is at least `least`"."""
    return p_above(scores.assign(effect=-scores["effect"], null_t=mirrored(scores["null_t"])), -least)


def mirrored(null_t: xr.DataArray) -> xr.DataArray:
    """The null distributions of effects with the opposite sign; ranks are the same from both ends."""
    ordered = null_t.transpose("task", "rank")
    return ordered.copy(data=-ordered.values[:, ::-1])


def p_of_statistic(scores: xr.Dataset, statistic: Effects, effects: Effects | None = None) -> Effects:
    """P of studentized effects."""
    effects = statistic if effects is None else effects
    null, rank = _values(scores, "null_t"), scores["rank"].values
    p_value = np.stack(
        [
            rank_p(statistic[..., task, :, :], null[task], rank, scores.attrs["null_draws"])
            for task in range(scores.sizes["task"])
        ],
        axis=-3,
    )
    # Without scatter (a single item) nothing can be told, and 0 of 0 is no effect.
    p_value = np.where(np.isnan(p_value) & ~np.isnan(effects), 1.0, p_value)
    return np.maximum(p_value, scores["smallest_p"].values[:, None, None] / 2)


def _values(scores: xr.Dataset, name: str) -> np.ndarray:
    return scores[name].transpose("task", ...).values
