"""Rules that look at effects alone, not at how sure they are."""

import math
import warnings
from collections.abc import Callable

import numpy as np
import xarray as xr
from jaxtyping import Float

from headcats.errors import DataError, OptionError, StatisticsWarning
from headcats.rules.declared import Cutoffs, effect_cutoffs, reads, with_check, with_cutoffs
from headcats.rules.rule import rule

# Below this many heads the sample itself bounds how many standard deviations a head can stand out.
FEW_HEADS = 200


def _value_itself(scores: xr.Dataset, *, value: float | int) -> Cutoffs:
    rows = next(dim for dim in scores["effect"].dims if dim not in ("layer", "head"))
    return effect_cutoffs(np.full(scores.sizes[rows], float(value)))


def _finite(*, value: float | int) -> None:
    if not math.isfinite(value):
        raise OptionError(f"threshold(value) needs a finite number, got {value}.")


@rule
@with_check(_finite)
@with_cutoffs(_value_itself)
def threshold(scores: xr.Dataset, *, value: float | int) -> xr.DataArray:
    """Heads whose effect is at least `value`, in shares of the gap; the others are out. Intervals are not looked at.

    Args:
        scores: Given when the rule is called: `effect` with dims `(task | category, layer, head)`.
        value: Smallest effect of a member, in the unit of the scores; finite.

    Returns:
        A `Rule`; it makes int8, dims of `scores.effect`: 1 in, -1 out (NaN: 0, undecided).

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
    return _in_or_out(scores["effect"] >= value)


def _share(*, p: float | int) -> None:
    if not 0 < p <= 1:
        raise OptionError(f"top_fraction(p) needs a share in (0, 1], got {p}.")


@rule
@with_check(_share)
def top_fraction(scores: xr.Dataset, *, p: float | int) -> xr.DataArray:
    """The `p` share of each row's heads with the largest effects, at least one head and never one that does not help.

    `floor(p * heads)` heads, heads without a number not counted; heads tied with the last one are in too. Returns heads
    even for noise.

    Args:
        scores: Given when the rule is called: `effect` with dims `(task | category, layer, head)`.
        p: Share of the heads, in (0, 1].

    Returns:
        A `Rule`; it makes int8, dims of `scores.effect`: 1 in, -1 out (NaN: 0, undecided).

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

    def cut(effects: Float[np.ndarray, " head"]) -> float:
        return float(np.sort(effects)[-max(1, math.floor(p * len(effects) + 1e-9))])

    return _above_cut(scores["effect"], cut)


def _finite_k(*, k: float | int) -> None:
    if not math.isfinite(k):
        raise OptionError(f"sd_above_mean(k) needs a finite number, got {k}.")


@rule
@with_check(_finite_k)
def sd_above_mean(scores: xr.Dataset, *, k: float | int = 3) -> xr.DataArray:
    """Heads at least `k` sample standard deviations above the mean of their row, and helping.

    Args:
        scores: Given when the rule is called: `effect` with dims `(task | category, layer, head)`.
        k: How many standard deviations; finite, and not below 0 if it is to mean much.

    Returns:
        A `Rule`; it makes int8, dims of `scores.effect`: 1 in, -1 out (NaN: 0, undecided).

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
def elbow(scores: xr.Dataset) -> xr.DataArray:
    """Heads up to the elbow of each row's sorted positive effects. **Descriptive: returns heads even for noise.**

    The elbow is the point farthest from the chord between the largest and the smallest positive effect; it is in, and
    so are heads tied with it.

    Returns:
        A `Rule`; of scores with dims `(task | category, layer, head)` it makes int8: 1 in, -1 out (NaN: 0, undecided).

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

    return _above_cut(scores["effect"], cut)


def _quantile(*, quantile: float | int) -> None:
    if not 0 < quantile <= 1:
        raise OptionError(f"null_calibrated(quantile) needs a share in (0, 1], got {quantile}.")


@rule
@with_check(_quantile)
@reads("null_effect")
def null_calibrated(scores: xr.Dataset, *, quantile: float = 0.99) -> xr.DataArray:
    """Heads whose effect lies above what donors of a second corruption do: above a quantile of those effects.

    The cut-off of a row (task or category) is the `quantile` of `null_effect` over its heads, and a head that does not
    help is never in. Null effects are what z of a second, independent corruption of the same query does in place of the
    clean z (`second_corruption_patch`): it takes the wrong task away as well, but brings another wrong one. For
    categories both effects are reduced over the same tasks, those that have null effects, in the same way before they
    are compared. A row without null effects is undecided.

    Args:
        scores: Given when the rule is called: `effect` and `null_effect` with dims `(task | category, layer, head)`, as
            `hc.score` gives them for denoising_patch where second_corruption_patch was run as well.
        quantile: Share of null effects below the cut-off, in (0, 1]; 1 = above every head's.

    Returns:
        A `Rule`; it makes int8, dims of `scores.effect`: 1 in, 0 undecided, -1 out.

    Raises:
        OptionError: `quantile` outside (0, 1].
        DataError: no null effects: a method without such a donor (ablations, noising), a run without
            second_corruption_patch, or task-specific effects, which have them taken off.

    Example:
        >>> import headcats as hc
        >>> scores = hc.score(hc.load("results/mini-icl"), method="denoising_patch")
        >>> outcome = hc.rules.null_calibrated(quantile=0.99)(scores)
        >>> bool((scores.effect.where(outcome == 1) > 0).sum() == (outcome == 1).sum())
        True

    References:
        headcats' own: the second corruption is a null donor, as permuted targets are in Elhelo & Geva (2025), arXiv
        2412.11965.
    """
    if "null_effect" not in scores:
        raise DataError(
            f"null_calibrated needs null effects, and {_why_none(scores)} Or use another rule, such as fdr()."
        )
    effect = scores["effect"]
    row = next(str(dim) for dim in effect.dims if dim not in ("layer", "head"))
    nulls = scores["null_effect"].transpose(row, ...).values.reshape(scores.sizes[row], -1)
    cuts = [
        float(np.quantile(known, quantile)) if len(known := values[np.isfinite(values)]) else math.inf
        for values in nulls
    ]
    cut = xr.DataArray(cuts, dims=row)
    return _in_or_out((effect > cut) & (effect > 0)).where(np.isfinite(cut), 0)


def _why_none(scores: xr.Dataset) -> str:
    method = scores.attrs.get("method", "this method")
    if scores.attrs.get("effect") == "task_specific":
        return "the task-specific effect already has them taken off: score the total effect (effect='total')."
    if method == "denoising_patch":
        return f"{method} was scored without second_corruption_patch: run that method too."
    return f"{method} has no donor of a second corruption to compare with (denoising_patch has)."


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
