"""Test over tasks of the difference of a head's effect between two categories.

In one category and undecided in another is no difference: the true effect may be the same in both.
"""

import numpy as np
import xarray as xr
from jaxtyping import Float

from headcats.base.errors import OptionError
from headcats.categories.argument_checks import SCORES, check_is
from headcats.categories.judging import warn_of
from headcats.categories.task_tests import numbered_tasks
from headcats.results.head_axes import head_coords
from headcats.statistics.distributions import t_above, t_quantile
from headcats.statistics.multiplicity import benjamini_hochberg

_ENOUGH = 5
"""Tasks of the smaller category from which on Welch's degrees of freedom hold far into the tail, which q needs."""
_GRID = ("layer", "head")
_PAIR = ("category", "other")


def effect_differences(scores: xr.Dataset, *, alpha: float = 0.05) -> xr.Dataset:
    """Which heads have another effect in one category than in another: Welch's t test over tasks, head by head.

    `difference = mean effect over the tasks of category - mean over those of other`. The task is the unit, so the test
    speaks of tasks like these. Assumed: the tasks of a category are exchangeable, independent draws (tasks on the same
    words may not be), their effects roughly normal; skewed effects (a few tasks that need the head, most that do not)
    can make a difference in spread look like one in the mean. Welch's degrees of freedom are too many by chance where a
    category has few tasks: with fewer than 5 the smaller category's tasks less one are taken, which never calls too
    often. q is Benjamini-Hochberg over heads x pairs of categories.

    Args:
        scores: What `hc.score` returns.
        alpha: Level of q that `n_different` counts, in (0, 1).

    Returns:
        `difference, low, high` (95 % interval), `p_value` (two-sided), `q_value (category, other, layer, head)`, in
        shares of the gap; `n_different (category, other)`: heads with `q <= alpha`; `n_tasks (category)`: tasks with
        numbers. NaN for a category of fewer than 2 such tasks and with itself, and for heads without a number in one of
        the tasks or without variance. Attributes of the scores, with `alpha`.

    Raises:
        DataError: No scores.
        OptionError: `alpha` outside (0, 1).

    Warns:
        StatisticsWarning: Categories with fewer than 2 tasks with numbers.

    Example:
        >>> import headcats as hc
        >>> scores = hc.score(hc.load("results/mini-icl"), method="denoising_patch")
        >>> tested = hc.categories.effect_differences(scores)
        >>> tested.difference.dims, tested.n_different.dims
        (('category', 'other', 'layer', 'head'), ('category', 'other'))
        >>> pair = tested.sel(category="Knowledge", other="Translation")
        >>> bool(((pair.low <= pair.difference) & (pair.difference <= pair.high)).all())
        True

    References:
        Welch (1947), Biometrika 34, 28-35; Mickey & Brown (1966), Ann. Math. Stat. 37, 639-642 (few tasks); Benjamini &
        Hochberg (1995), J. R. Stat. Soc. B 57, 289-300.
    """
    check_is(scores, SCORES, by="hc.categories.effect_differences")
    if not 0 < alpha < 1:
        raise OptionError(f"alpha must lie between 0 and 1, got {alpha}.")
    tasks = numbered_tasks(scores)
    few = [f"{name} ({len(members)})" for name, members in tasks.items() if len(members) < 2]
    warn_of({"A difference is tested over tasks: it needs 2 with numbers in each category": few})
    names = list(tasks)
    effects = [scores["effect"].sel(task=tasks[name]).transpose("task", *_GRID).values for name in names]
    shape = (len(names), len(names), *effects[0].shape[1:])
    tested = {name: np.full(shape, np.nan) for name in ("difference", "low", "high", "p_value", "q_value")}
    first, second = np.triu_indices(len(names), 1)
    for i, j in zip(first, second, strict=True):
        if min(len(effects[i]), len(effects[j])) >= 2:
            for name, values in _welch(effects[i], effects[j]).items():
                tested[name][i, j] = values
    tested["q_value"][first, second] = benjamini_hochberg(tested["p_value"][first, second])
    for name, mirrored, sign in (
        ("difference", "difference", -1), ("low", "high", -1), ("high", "low", -1),
        ("p_value", "p_value", 1), ("q_value", "q_value", 1),
    ):  # fmt: skip
        tested[name][second, first] = sign * tested[mirrored][first, second]
    result = xr.Dataset(
        {name: ((*_PAIR, *_GRID), values) for name, values in tested.items()},
        coords={"category": names, "other": names, **head_coords(scores)},
        attrs=scores.attrs | {"alpha": alpha},
    )
    known = result["p_value"].notnull().any(_GRID)
    result["n_different"] = (result["q_value"] <= alpha).sum(_GRID).where(known)
    result["n_tasks"] = ("category", [len(tasks[name]) for name in names])
    return result


def _welch(
    first: Float[np.ndarray, "task layer head"], second: Float[np.ndarray, "other_task layer head"]
) -> dict[str, Float[np.ndarray, "layer head"]]:
    """Difference of the means, its 95 % interval and two-sided p; NaN without variance."""
    sides = (first, second)
    parts = [effects.var(axis=0, ddof=1) / len(effects) for effects in sides]
    squared, least = parts[0] + parts[1], min(map(len, sides))
    with np.errstate(divide="ignore", invalid="ignore"):  # of heads with the same effect on all tasks
        welch = squared**2 / sum(part**2 / (len(effects) - 1) for part, effects in zip(parts, sides, strict=True))
        freedom = welch if least >= _ENOUGH else np.full_like(welch, least - 1.0)
        difference, error = first.mean(axis=0) - second.mean(axis=0), np.sqrt(squared)
        reach = t_quantile(0.025, freedom) * error
        p_value = 2 * t_above(np.abs(difference) / error, freedom)
    values = {"difference": difference, "low": difference - reach, "high": difference + reach, "p_value": p_value}
    return {name: np.where(error > 0, numbers, np.nan) for name, numbers in values.items()}
