"""Rules that look at effects alone, not at how sure they are."""

import math
import warnings
from collections.abc import Callable

import numpy as np
import xarray as xr
from jaxtyping import Float

from headcats.base.errors import OptionError, StatisticsWarning
from headcats.rules.rule import Cutoffs, Rule, effect_cutoffs, rule

# Below this many heads the sample itself bounds how many standard deviations a head can stand out.
FEW_HEADS = 200


@rule
def threshold(*, value: float | int) -> Rule:
    """Heads whose effect is at least `value`, in shares of the gap; the others are out. Intervals are not looked at.

    Args:
        value: Smallest effect of a member, in the unit of the scores; finite.

    Returns:
        A `Rule` of `effect (task | category, layer, head)`: 1 in, -1 out (NaN: 0, undecided).

    Raises:
        OptionError: `value` is not a finite number.

    Example:
        >>> import headcats as hc
        >>> scores = hc.score(hc.load("results/mini-icl"), method="denoising_patch")
        >>> members = hc.categorize(scores, rule=hc.rules.threshold(value=0.1))
        >>> bool((members.effect.where(members.member == 1).min() >= 0.1))
        True

    References:
        Elhelo & Geva (2025), MAPS, arXiv 2412.11965, with .15 on scores of relations.
    """
    if not math.isfinite(value):
        raise OptionError(f"threshold(value) needs a finite number, got {value}.")

    def cutoffs(scores: xr.Dataset) -> Cutoffs:
        row = next(dim for dim in scores["effect"].dims if dim not in ("layer", "head"))
        return effect_cutoffs(np.full(scores.sizes[row], float(value)))

    return Rule(lambda scores: _in_or_out(scores["effect"] >= value), cutoffs, takes_draws=True)


@rule
def top_fraction(*, p: float | int) -> Rule:
    """The `p` share of each row's heads with the largest effects, at least one head and never one that does not help.

    `floor(p * heads)` heads, heads without a number not counted; heads tied with the last one are in too. Returns heads
    even for noise.

    Args:
        p: Share of the heads, in (0, 1].

    Returns:
        A `Rule` of `effect (task | category, layer, head)`: 1 in, -1 out (NaN: 0, undecided).

    Raises:
        OptionError: `p` outside (0, 1].

    Example:
        >>> import headcats as hc
        >>> scores = hc.score(hc.load("results/mini-icl"), method="denoising_patch")
        >>> outcome = hc.rules.top_fraction(p=0.1)(scores)
        >>> (outcome == 1).sum(("layer", "head")).values  # a tenth of 48 heads, for each task
        array([4, 4, 4, 4, 4, 4, 4, 4])

    References:
        Todd et al. (2024), arXiv 2310.15213, take the heads with the largest effects, whatever these are.
    """
    if not 0 < p <= 1:
        raise OptionError(f"top_fraction(p) needs a share in (0, 1], got {p}.")

    def cut(effects: Float[np.ndarray, " head"]) -> float:
        return float(np.sort(effects)[-max(1, math.floor(p * len(effects) + 1e-9))])

    return _above_cut(cut)


@rule
def sd_above_mean(*, k: float | int = 3) -> Rule:
    """Heads at least `k` sample standard deviations above the mean of their row, and helping.

    Args:
        k: How many standard deviations; finite, and not below 0 if it is to mean much.

    Returns:
        A `Rule` of `effect (task | category, layer, head)`: 1 in, -1 out (NaN: 0, undecided).

    Raises:
        OptionError: `k` is not a finite number.

    Warns:
        StatisticsWarning: fewer than 200 heads. A single head among n cannot stand out by more than (n - 1) / sqrt(n)
            standard deviations, and strong heads inflate the standard deviation they are measured with.

    Example:
        >>> import headcats as hc
        >>> import warnings
        >>> scores = hc.score(hc.load("results/mini-icl"), method="denoising_patch")
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore", hc.errors.StatisticsWarning)  # 48 heads are few
        ...     outcome = hc.rules.sd_above_mean(k=3)(scores)
        >>> bool(((outcome == 1).sum(("layer", "head")) <= 4).all())
        True

    References:
        Common practice without one source; the bound on how far a head can stand out: Samuelson (1968), J. Am. Stat.
        Assoc. 63, 1522-1525.
    """
    if not math.isfinite(k):
        raise OptionError(f"sd_above_mean(k) needs a finite number, got {k}.")

    def cut(effects: Float[np.ndarray, " head"]) -> float:
        return float(effects.mean() + k * effects.std(ddof=1)) if len(effects) > 1 else math.inf

    def judge(scores: xr.Dataset) -> xr.DataArray:
        n_heads = int(scores["effect"].notnull().sum(("layer", "head")).max())
        if n_heads < FEW_HEADS:
            warnings.warn(
                f"sd_above_mean(k={k}) on {n_heads} heads: below {FEW_HEADS}, strong heads inflate the standard "
                "deviation they are measured with, and members are missed. Prefer fdr().",
                StatisticsWarning,
                stacklevel=4,
            )
        return _above_cut(cut).judge(scores)

    return Rule(judge, takes_draws=True)


@rule
def elbow() -> Rule:
    """Heads up to the elbow of each row's sorted positive effects. **Descriptive: returns heads even for noise.**

    The elbow is the point farthest from the chord between the largest and the smallest positive effect; it is in, and
    so are heads tied with it.

    Returns:
        A `Rule` of `effect (task | category, layer, head)`: 1 in, -1 out (NaN: 0, undecided).

    Example:
        >>> import headcats as hc
        >>> scores = hc.score(hc.load("results/mini-icl"), method="denoising_patch")
        >>> outcome = hc.rules.elbow()(scores)
        >>> bool(((outcome == 1).sum(("layer", "head")) >= 1).all())  # heads even for noise
        True

    References:
        Ma et al. (2025), Cognitive Mirrors, arXiv 2512.10978; the chord: Satopaa et al. (2011), Finding a "Kneedle" in
        a haystack, ICDCS Workshops, 166-171.
    """

    def cut(effects: Float[np.ndarray, " head"]) -> float:
        positive = np.sort(effects[effects > 0])[::-1]
        if not len(positive):
            return math.inf
        # Distances to a straight line are proportional to vertical ones, whatever the scale of the axes.
        distance = np.abs(positive - np.linspace(positive[0], positive[-1], len(positive)))
        distance[distance <= 1e-12 * positive[0]] = 0.0
        return float(positive[int(np.argmax(distance))])

    return _above_cut(cut)


def _above_cut(cut: Callable[[np.ndarray], float]) -> Rule:
    def judge(scores: xr.Dataset) -> xr.DataArray:
        # A head that hurts is never a member, however low the cut.
        effect = scores["effect"]
        return _in_or_out((effect >= _cuts(effect, cut)) & (effect > 0))

    return Rule(judge, takes_draws=True)


def _cuts(effect: xr.DataArray, cut: Callable[[np.ndarray], float]) -> xr.DataArray:
    """One cut per row (of every draw), from its finite values; infinite where it has none."""
    effect = effect.transpose(..., "layer", "head")
    rows = [values[np.isfinite(values)] for values in effect.values.reshape(-1, math.prod(effect.shape[-2:]))]
    cuts = [cut(values) if values.size else math.inf for values in rows]
    return xr.DataArray(np.reshape(cuts, effect.shape[:-2]), dims=effect.dims[:-2])


def _in_or_out(member: xr.DataArray) -> xr.DataArray:
    return xr.where(member, 1, -1).astype(np.int8)
