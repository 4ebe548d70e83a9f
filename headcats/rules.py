"""Rules: estimates to three outcomes. 1 = in, 0 = undecided, -1 = out.

A rule takes a table with dims `(task | category, layer, head)` and judges helping heads, so members have positive
effects. Suppressing heads are the same rule on `negate(scores)`; the two are never merged. A head without a number is
undecided.

Two-sided and one-sided p: the tables of `hc.score` hold two-sided p values, and `fdr` takes the sign from `low >=
min_effect`. `hc.categorize` hands rules a table whose p values are already one-sided for the direction asked about.
"""

import functools
import inspect
import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Concatenate, ParamSpec

import numpy as np
import xarray as xr
from jaxtyping import Float

from headcats import estimates
from headcats.errors import DataError, OptionError, StatisticsWarning
from headcats.registry import register

Options = ParamSpec("Options")

# Below this many heads the sample itself bounds how many standard deviations a head can stand out.
FEW_HEADS = 200


@dataclass(frozen=True)
class Rule:
    """A rule with its options settled: call it on scores. Its repr is the call that makes it, defaults included."""

    name: str
    options: Mapping[str, Any]
    judge: Callable[..., xr.DataArray]

    def __call__(self, scores: xr.Dataset) -> xr.DataArray:
        """Outcome of every head: int8 with the dims of `scores.effect`, 1 in, 0 undecided (NaN included), -1 out."""
        effect = scores["effect"]
        outcome = self.judge(scores, **self.options).transpose(*effect.dims)
        if outcome.shape != effect.shape or not np.isin(outcome.values, (-1, 0, 1)).all():
            raise DataError(
                f"Rule {self.name!r} must return 1, 0 or -1 for each of the {dict(effect.sizes)} cells of `effect`; "
                f"it returned {dict(outcome.sizes)} with values {np.unique(outcome.values)[:5].tolist()}."
            )
        return outcome.where(effect.notnull(), 0).astype(np.int8).rename("outcome")

    def __repr__(self) -> str:
        return f"{self.name}({', '.join(f'{key}={value!r}' for key, value in self.options.items())})"


def rule(judge: Callable[Concatenate[xr.Dataset, Options], xr.DataArray]) -> Callable[Options, Rule]:
    """Register `f(scores, *, options)` as a rule: `f(*, options)` then gives a `Rule`, a callable on scores.

    The registered name is the function's. Options not in its signature raise a TypeError that names them.
    """
    name = judge.__name__
    signature = inspect.signature(judge)
    known = list(signature.parameters)[1:]
    signature = signature.replace(parameters=[signature.parameters[key] for key in known])

    @functools.wraps(judge)
    def make(*args: Options.args, **options: Options.kwargs) -> Rule:
        unknown = [key for key in options if key not in known]
        if unknown or args:
            wrong = ", ".join(map(repr, unknown)) or f"{len(args)} by position"
            raise TypeError(f"{name}() got the options {wrong}; it takes {', '.join(known) or 'none'}, by name.")
        bound = signature.bind(**options)
        bound.apply_defaults()
        return Rule(name, dict(bound.arguments), judge)

    make.__signature__ = signature  # type: ignore[attr-defined]
    register("rule", name, make)
    return make


def negate(scores: xr.Dataset) -> xr.Dataset:
    """The same scores asked the opposite way: effect, low, high become -effect, -high, -low; two-sided p stays.

    `rule(negate(scores))` finds suppressing heads.

    Raises:
        DataError: rows are categories, whose p values are one-sided; `hc.categorize` judges both directions itself.
    """
    if "category" in scores["effect"].dims:
        raise DataError(
            "Category rows hold one-sided p values and cannot be negated; use `suppressing` of hc.categorize."
        )
    flipped = {"effect": -scores["effect"], "low": -scores["high"], "high": -scores["low"]}
    return scores.assign({name: values for name, values in flipped.items() if name in scores})


@rule
def threshold(scores: xr.Dataset, *, value: float | int) -> xr.DataArray:
    """Heads whose effect is at least `value`, in shares of the gap; the others are out. Intervals are not looked at."""
    if not math.isfinite(value):
        raise OptionError(f"threshold(value) needs a finite number, got {value}.")
    return _in_or_out(scores["effect"] >= value)


@rule
def top_fraction(scores: xr.Dataset, *, p: float | int) -> xr.DataArray:
    """The `p` share of each row's heads with the largest effects, at least one head and never one that does not help.

    `floor(p * heads)` heads, heads without a number not counted; heads tied with the last one are in too. Returns heads
    even for noise.
    """
    if not 0 < p <= 1:
        raise OptionError(f"top_fraction(p) needs a share in (0, 1], got {p}.")

    def cut(effects: Float[np.ndarray, " head"]) -> float:
        return float(np.sort(effects)[-max(1, math.floor(p * len(effects) + 1e-9))])

    return _above_cut(scores["effect"], cut)


@rule
def sd_above_mean(scores: xr.Dataset, *, k: float | int = 3) -> xr.DataArray:
    """Heads at least `k` sample standard deviations above the mean of their row, and helping.

    Warns:
        StatisticsWarning: fewer than 200 heads. A single head among n cannot stand out by more than (n - 1) / sqrt(n)
            standard deviations, and strong heads inflate the standard deviation they are measured with.
    """
    n_heads = int(scores["effect"].notnull().sum(("layer", "head")).max())
    if n_heads < FEW_HEADS:
        warnings.warn(
            f"sd_above_mean(k={k}) on {n_heads} heads: below {FEW_HEADS}, strong heads inflate the standard deviation "
            "they are measured with, and members are missed. Prefer fdr().",
            StatisticsWarning,
            stacklevel=4,
        )

    def cut(effects: Float[np.ndarray, " head"]) -> float:
        return float(effects.mean() + k * effects.std(ddof=1)) if len(effects) > 1 else math.inf

    return _above_cut(scores["effect"], cut)


@rule
def fdr(scores: xr.Dataset, *, alpha: float = 0.05, min_effect: float | int = 0.05) -> xr.DataArray:
    """Heads whose effect is at least `min_effect` at false-discovery rate `alpha`.

    Benjamini-Hochberg over all heads and rows of `scores`. `in`: q <= alpha and low >= min_effect.
    `out`: high < min_effect. `undecided`: everything else.

    Args:
        scores: `effect`, `low`, `high`, `p_value` with dims `(task | category, layer, head)`; effects in
            units of the clean-corrupted gap, positive = the head helps. `smallest_p` per row, where present,
            lets the rule tell "nothing there" from "nothing could have been found".
        alpha: Expected share of false members among the heads called, in (0, 1).
        min_effect: Smallest effect of interest, in the same unit, not negative.

    Returns:
        int8, dims of `scores.effect`: 1 in, 0 undecided, -1 out. NaN is undecided.

    Raises:
        OptionError: `alpha` outside (0, 1) or a negative `min_effect`.
        DataError: so few query items that no number of discoveries could reach `alpha` (the message names the
            smallest reachable p and the items needed).

    References:
        Benjamini & Hochberg (1995), J. R. Stat. Soc. B 57, 289-300.
    """
    if not 0 < alpha < 1:
        raise OptionError(f"fdr(alpha) must lie between 0 and 1, got {alpha}.")
    if not 0 <= min_effect < math.inf:
        raise OptionError(f"fdr(min_effect) must be 0 or more (suppressing heads are judged apart), got {min_effect}.")
    p_value = scores["p_value"].transpose(*scores["effect"].dims)
    _refuse_unreachable(scores, alpha=alpha)
    q_value = p_value.copy(data=estimates.benjamini_hochberg(p_value.values))
    called = (q_value <= alpha) & (scores["low"] >= min_effect)
    return xr.where(called, 1, xr.where(scores["high"] < min_effect, -1, 0)).astype(np.int8)


@rule
def elbow(scores: xr.Dataset) -> xr.DataArray:
    """Heads up to the elbow of each row's sorted positive effects. **Descriptive: returns heads even for noise.**

    The elbow is the point farthest from the chord between the largest and the smallest positive effect; it is in, and
    so are heads tied with it.
    """

    def cut(effects: Float[np.ndarray, " head"]) -> float:
        positive = np.sort(effects[effects > 0])[::-1]
        if not len(positive):
            return math.inf
        # Distances to a straight line are proportional to vertical ones, whatever the scale of the axes.
        distance = np.abs(positive - np.linspace(positive[0], positive[-1], len(positive)))
        distance[distance <= 1e-12 * positive[0]] = 0.0
        return float(positive[int(np.argmax(distance))])

    return _above_cut(scores["effect"], cut)


def _above_cut(effect: xr.DataArray, cut: Callable[[np.ndarray], float]) -> xr.DataArray:
    # One cut per row; a head that hurts is never a member, however low the cut.
    row = next(str(dim) for dim in effect.dims if dim not in ("layer", "head"))
    cuts = []
    for values in effect.transpose(row, ...).values:
        known = values[np.isfinite(values)]
        cuts.append(cut(known) if known.size else math.inf)
    return _in_or_out((effect >= xr.DataArray(cuts, dims=row)) & (effect > 0))


def _in_or_out(member: xr.DataArray) -> xr.DataArray:
    return xr.where(member, 1, -1).astype(np.int8)


def _refuse_unreachable(scores: xr.Dataset, *, alpha: float) -> None:
    if "smallest_p" not in scores.data_vars or not scores["p_value"].notnull().any():
        return
    # Even if every head reached the smallest p of its row: would anything be called?
    smallest = scores["smallest_p"].broadcast_like(scores["p_value"]).where(scores["p_value"].notnull())
    if np.nanmin(estimates.benjamini_hochberg(smallest.values)) <= alpha:
        return
    row_reach = smallest.min(("layer", "head"))
    reach = float(row_reach.min())
    # Every further item halves the smallest p a sign flip can reach.
    more = math.ceil(math.log2(reach / alpha))
    have, need = "", f"at least {more} more query items per task"
    if "n_items" in scores.data_vars:
        items = int(scores["n_items"].values[int(np.nanargmin(row_reach.values))])
        have, need = f" with {items} query items per task", f"at least {items + more} query items per task"
    raise DataError(
        f"fdr(alpha={alpha:g}) could not call any head{have}, even if all {int(smallest.notnull().sum())} stood out: "
        f"the smallest reachable p is {reach:.3g}. Use {need}, or a rule without p values."
    )
