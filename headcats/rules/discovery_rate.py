"""The rule of this project: an effect that is large enough, at a false-discovery rate."""

import math

import numpy as np
import xarray as xr

from headcats.errors import OptionError, TooFewItemsError
from headcats.rules.rule import Cutoffs, Rule, rule
from headcats.statistics.multiplicity import MOST_DRAWS, benjamini_hochberg, draws_for

# From here on the number of sign draws can limit p, too: 2^(1 - 15) is below 1 / 10000.
_DRAWN = 15


@rule
def fdr(*, alpha: float = 0.05, min_effect: float | int = 0.05) -> Rule:
    """Heads whose effect is at least `min_effect` at false-discovery rate `alpha`.

    Benjamini-Hochberg over all heads and rows of `scores`. `in`: q <= alpha and low >= min_effect.
    `out`: high < min_effect. `undecided`: everything else.

    Args:
        alpha: Expected share of false members among the heads called, in (0, 1).
        min_effect: Smallest effect of interest, in the same unit, not negative.

    Returns:
        A `Rule` of `effect`, `low`, `high`, `p_value (task | category, layer, head)`, in units of the clean-corrupted
        gap, positive = the head helps: 1 in, 0 undecided (NaN included), -1 out. `smallest_p` per row, where present,
        lets the rule tell "nothing there" from "nothing could have been found".

    Raises:
        OptionError: `alpha` outside (0, 1) or a negative `min_effect`.
        TooFewItemsError: When the rule is called: so few query items that no number of discoveries could reach `alpha`
            (the message names the smallest reachable p and the items needed).

    Example:
        >>> import headcats as hc
        >>> scores = hc.score(hc.load("results/mini-icl"), method="denoising_patch")
        >>> outcome = hc.rules.fdr(alpha=0.05, min_effect=0.05)(scores)
        >>> bool((scores.low.where(outcome == 1).min() >= 0.05))
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
        p_value, low, high = (scores[name].transpose(*effect.dims).values for name in ("p_value", "low", "high"))
        by_draw = p_value if "draw" in effect.dims else p_value[None]
        q_value = np.reshape([benjamini_hochberg(of_draw) for of_draw in by_draw], effect.shape)
        called = (q_value <= alpha) & (low >= min_effect)
        return effect.copy(data=np.where(called, 1, np.where(high < min_effect, -1, 0)).astype(np.int8))

    def cutoffs(scores: xr.Dataset) -> Cutoffs:
        # The largest p that was called; where none was, the one that a single discovery would have needed.
        p_value, effect = scores["p_value"].values, scores["effect"]
        called = p_value[benjamini_hochberg(p_value) <= alpha]
        largest = float(called.max()) if len(called) else alpha / max(1, int(np.isfinite(p_value).sum()))
        n_rows = next(scores.sizes[dim] for dim in effect.dims if dim not in ("layer", "head"))
        return Cutoffs(np.full(n_rows, -np.inf), np.full(n_rows, float(min_effect)), np.full(n_rows, largest))

    return Rule(judge, cutoffs, takes_draws=True)


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
    reach = float(row_reach.min())
    # Every further item halves the smallest p that a sign flip can reach, and with it q, which a row of larger p can
    # hold above p.
    more = math.ceil(math.log2(least_q / alpha))
    have, need = "", f"at least {more} more query items per task"
    if "n_items" in scores.data_vars:
        items = int(scores["n_items"].values[int(np.nanargmin(row_reach.values))])
        have, need = f" with {items} query items per task", f"at least {items + more} query items per task"
        need += _single(items, more, reach, tests=scores["p_value"].size, alpha=alpha)
        if items + more >= _DRAWN:
            # The smallest p of the most draws there are, and what q the rows make of it.
            floor = 1 / (draws_for(scores["p_value"].size, alpha=alpha) + 1)
            more_draws = f"as many sign draws as this alpha takes (hc.score with alpha={alpha:g})"
            larger_alpha = f"a larger alpha, as hc.score makes {MOST_DRAWS} sign draws at most"
            need += f" and {more_draws if least_q * floor / reach <= alpha else larger_alpha}"
    raise TooFewItemsError(
        f"fdr(alpha={alpha:g}) could not call any head{have}, even if all {int(smallest.notnull().sum())} stood out: "
        f"the smallest reachable p is {reach:.3g}. Use {need}, or a rule without p values. A larger "
        "n_prompts brings more items."
    )


def _single(items: int, more: int, reach: float, *, tests: int, alpha: float) -> str:
    """How many items a single head takes, whose p alone has to reach alpha / tests; "" where draws would limit it."""
    alone = items + math.ceil(math.log2(reach * tests / alpha))
    return f" ({alone} to call a single head)" if items + more < alone < _DRAWN else ""
