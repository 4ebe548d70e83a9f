"""The rule of this project: an effect that is large enough, at a false-discovery rate."""

import math

import numpy as np
import xarray as xr
from jaxtyping import Bool, Float

from headcats.base.errors import OptionError, TooFewItemsError
from headcats.rules.rule import Cutoffs, Rule, rule
from headcats.scores.testing import p_above, p_below
from headcats.statistics.multiplicity import benjamini_hochberg, items_for


@rule
def fdr(*, alpha: float = 0.05, min_effect: float | int = 0.05) -> Rule:
    """Heads whose effect is above `min_effect` in at least r of a category's n tasks, at false-discovery rate `alpha`.

    That is the statement about a head that is `in`: Benjamini-Hochberg over all heads and rows of `scores` of p values
    that test `min_effect` itself. `out`: the same test the other way round, "above `min_effect` in fewer than r tasks".
    `undecided`: everything else. r is `min_tasks` of `hc.categorize`; on a table of tasks it is the one task, and p is
    two-sided.

    Args:
        alpha: Expected share of false members among the heads called, in (0, 1).
        min_effect: Effect that has to be exceeded, in shares of the clean-corrupted gap, not negative.

    Returns:
        A `Rule` of what `hc.score` returns, or of `effect, p_value, p_below (category, layer, head)`, positive = the
        head helps: 1 in, 0 undecided (NaN included), -1 out. `smallest_p` per row, where present, lets the rule tell
        "nothing there" from "nothing could have been found".

    Raises:
        OptionError: `alpha` outside (0, 1) or a negative `min_effect`.
        TooFewItemsError: When the rule is called: so few query items that no number of discoveries could reach `alpha`
            (the message names the smallest reachable p and the items needed).

    Example:
        >>> import headcats as hc
        >>> scores = hc.score(hc.load("results/mini-icl"), method="denoising_patch")
        >>> outcome = hc.rules.fdr(alpha=0.05, min_effect=0.05)(scores)
        >>> bool((scores.effect.where(outcome == 1).min() > 0.05))
        True

    References:
        Benjamini & Hochberg (1995), J. R. Stat. Soc. B 57, 289-300.
    """
    if not 0 < alpha < 1:
        raise OptionError(f"fdr(alpha) must lie between 0 and 1, got {alpha}.")
    if not 0 <= min_effect < math.inf:
        raise OptionError(f"fdr(min_effect) must be 0 or more (suppressing heads are judged apart), got {min_effect}.")

    def judge(scores: xr.Dataset) -> xr.DataArray:
        # Draws differ in numbers, not in which heads have them.
        _refuse_unreachable(scores.isel(draw=0, missing_dims="ignore"), alpha=alpha)
        effect = scores["effect"].transpose("draw", ..., missing_dims="ignore")
        above, below = _p_values(scores, min_effect, like=effect)
        called, excluded = (_discovered(p_value, alpha, by_draw="draw" in effect.dims) for p_value in (above, below))
        return effect.copy(data=np.where(called, 1, np.where(excluded, -1, 0)).astype(np.int8))

    def cutoffs(scores: xr.Dataset) -> Cutoffs:
        # alpha x discoveries / tests; where there are none, what a single discovery would have needed.
        p_value, _ = _p_values(scores, min_effect, like=scores["effect"])
        discoveries, tests = (benjamini_hochberg(p_value) <= alpha).sum(), np.isfinite(p_value).sum()
        largest = alpha * max(1, discoveries) / max(1, tests)
        n_rows = next(scores.sizes[dim] for dim in scores["effect"].dims if dim not in ("layer", "head"))
        return Cutoffs(np.full(n_rows, -np.inf), np.full(n_rows, -np.inf), np.full(n_rows, largest))

    return Rule(judge, cutoffs, takes_draws=True, least_effect=float(min_effect))


def _p_values(
    scores: xr.Dataset, min_effect: float, *, like: xr.DataArray
) -> tuple[Float[np.ndarray, "..."], Float[np.ndarray, "..."]]:
    """P values of "above" and "below" `min_effect`: those of the table, or two-sided ones for scores of tasks."""
    if "null_t" not in scores:
        return (
            scores["p_value"].transpose(*like.dims).values,
            scores["p_below"].broadcast_like(like).transpose(*like.dims).values,
        )
    ordered = scores.transpose(..., "task", "layer", "head")
    above, below = (
        ordered["effect"].copy(data=2 * p_value(ordered, min_effect)).transpose(*like.dims).values
        for p_value in (p_above, p_below)
    )
    return above, below


def _discovered(p_value: Float[np.ndarray, "..."], alpha: float, *, by_draw: bool) -> Bool[np.ndarray, "..."]:
    families = p_value if by_draw else p_value[None]
    return np.reshape([benjamini_hochberg(family) <= alpha for family in families], p_value.shape)


def _refuse_unreachable(scores: xr.Dataset, *, alpha: float) -> None:
    if "smallest_p" not in scores.data_vars or not scores["p_value"].notnull().any():
        return
    rows = scores["smallest_p"].dims
    has_p = np.isfinite(scores["p_value"].transpose(*rows, ...).values).reshape(scores["smallest_p"].size, -1).any(1)
    if float(scores["smallest_p"].values.ravel()[has_p].min()) <= alpha / scores["p_value"].size:
        return  # a single discovery is within reach
    # Even if every head reached the smallest p of its row: would anything be called?
    smallest = scores["smallest_p"].broadcast_like(scores["p_value"]).where(scores["p_value"].notnull())
    least_q = float(np.nanmin(benjamini_hochberg(smallest.values)))
    if least_q <= alpha:
        return
    row_reach = smallest.min(("layer", "head"))
    reach, have, need = float(row_reach.min()), "", "more query items per task"
    if "n_items" in scores.data_vars:
        items = int(scores["n_items"].values[int(np.nanargmin(row_reach.values))])
        have = f" with {items} query items per task"
        need = f"at least {items_for(float(items) ** (1 - items) * alpha / least_q)} query items per task"
    raise TooFewItemsError(
        f"fdr(alpha={alpha:g}) could not call any head{have}, even if all {int(smallest.notnull().sum())} stood out: "
        f"the smallest reachable p is {reach:.3g}. Use {need}, or a rule without p values. A larger "
        "n_prompts brings more items."
    )
