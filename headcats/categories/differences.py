"""Test over independent sources of the difference of a head's effect between two categories.

In one category and undecided in another is no difference: the true effect may be the same in both.
"""

import math

import numpy as np
import xarray as xr
from jaxtyping import Bool, Float, Int

from headcats.base.errors import OptionError
from headcats.categories.argument_checks import SCORES, check_is
from headcats.categories.judging import warn_of
from headcats.categories.task_tests import numbered_tasks, source_means
from headcats.results.head_axes import head_coords
from headcats.statistics.random_streams import stream

LEAST_SOURCES = 4
"""Independent sources that a category needs to take part."""
RELABELLINGS = 1000
_SEED = 0
_AT_A_TIME = 50  # labellings
_ROUNDING = 1e-9  # of statistics and spreads that are the same
_PAIR, _GRID = ("category", "other"), ("layer", "head")


def effect_differences(scores: xr.Dataset, *, alpha: float = 0.05) -> xr.Dataset:
    """Test whose effect differs between two categories, by exchanging the labels of sources.

    `difference = mean over the independent sources of category - that of other`, a source being the mean over its tasks
    of the category. It is divided by its standard error from the spread between sources of the same category, pooled
    over categories. `p_value` is the share of 1000 labellings of the sources in which any head and pair of categories
    has a ratio as large, so at most `alpha` of studies call any head if labels mean nothing. Assumed: sources are
    exchangeable, so a category whose effects only spread more can be called, too.

    Args:
        scores: What `hc.score` returns; sources are its coordinate `independent_source (task)`, else tasks.
        alpha: Family-wise error rate of the calls and intervals, in (0, 1).

    Returns:
        `difference, low, high` (simultaneous interval, without 0 if the head is called), `p_value` (two-sided,
        family-wise) `(category, other, layer, head)`, in shares of the gap; `n_different (category, other)`: heads with
        `p_value <= alpha`; `n_sources (category)`: those with numbers. NaN for a category of fewer than 4 such sources
        and with itself, and for heads without a number in one of the tasks or without spread. Attributes of the scores,
        with `alpha`.

    Raises:
        DataError: No scores.
        OptionError: `alpha` outside (0, 1).

    Warns:
        StatisticsWarning: Categories with fewer than 4 sources with numbers.

    Example:
        >>> import headcats as hc
        >>> import numpy as np
        >>> import xarray as xr
        >>> effect = np.array([[1, 2], [2, 3], [1, 1], [3, 2], [9, 2], [8, 1], [9, 3], [7, 2]]) / 10
        >>> scores = xr.Dataset(
        ...     {"effect": (("task", "layer", "head"), effect[:, None])},
        ...     {"task": [*"abcdefgh"], "category": ("task", [*"AAAABBBB"]), "layer": [0], "head": [0, 1]},
        ...     {"categories": '[{"name": "A"}, {"name": "B"}]'},
        ... )
        >>> tested = hc.categories.effect_differences(scores)
        >>> (tested.p_value.sel(category="B", other="A") <= 0.05).values.tolist()
        [[True, False]]

    References:
        Westfall & Young (1993), Resampling-Based Multiple Testing, Wiley.
    """
    check_is(scores, SCORES, by="hc.categories.effect_differences")
    if not 0 < alpha < 1:
        raise OptionError(f"alpha must lie between 0 and 1, got {alpha}.")
    means = {name: source_means(scores.sel(task=tasks)) for name, tasks in numbered_tasks(scores).items()}
    few = [f"{name} ({len(sources)})" for name, sources in means.items() if len(sources) < LEAST_SOURCES]
    warn_of({f"Differences between categories take {LEAST_SOURCES} independent sources in each": few})
    names = list(means)
    tested = [place for place, name in enumerate(names) if len(means[name]) >= LEAST_SOURCES]
    shape = (len(names), len(names), *(scores.sizes[dim] for dim in _GRID))
    grids = {name: np.full(shape, np.nan) for name in ("difference", "low", "high", "p_value")}
    if len(tested) > 1:
        for name, values in _relabelled([means[names[place]] for place in tested], alpha).items():
            grids[name][np.ix_(tested, tested)] = values.reshape(len(tested), len(tested), *shape[2:])
    result = xr.Dataset(
        {name: ((*_PAIR, *_GRID), values) for name, values in grids.items()},
        coords={"category": names, "other": names, **head_coords(scores)},
        attrs=scores.attrs | {"alpha": alpha},
    )
    known = result["p_value"].notnull().any(_GRID)
    result["n_different"] = (result["p_value"] <= alpha).sum(_GRID).where(known)
    result["n_sources"] = ("category", [len(means[name]) for name in names])
    return result


def _relabelled(
    means: list[Float[np.ndarray, "source layer head"]], alpha: float
) -> dict[str, Float[np.ndarray, "category other cell"]]:
    """Variables of `effect_differences` for categories with enough sources."""
    effects = np.concatenate(means).reshape(sum(map(len, means)), -1)
    effects = effects - effects.mean(axis=0)
    labels, draws = np.repeat(np.arange(len(means)), [len(sources) for sources in means]), stream(_SEED, "differences")
    drawn = np.stack([labels, *(draws.permutation(labels) for _ in range(RELABELLINGS - 1))])
    parts = np.array_split(drawn, 1 + RELABELLINGS // _AT_A_TIME)
    largest = np.concatenate([_ratios(effects, part)[0].max(axis=(1, 2), initial=0) for part in parts])
    ratio, difference, error = (grids[0] for grids in _ratios(effects, drawn[:1]))
    ordered = np.sort(largest)
    p_value = 1 - np.searchsorted(ordered, ratio - _ROUNDING) / RELABELLINGS
    reach = ordered[-1 - math.floor(alpha * RELABELLINGS + _ROUNDING)] * error
    first, second = np.triu_indices(len(means), 1)
    table = {}
    for name, values, mirrored in (
        ("difference", difference, -difference), ("low", difference - reach, -difference - reach),
        ("high", difference + reach, reach - difference), ("p_value", p_value, p_value),
    ):  # fmt: skip
        table[name] = np.full((len(means), len(means), effects.shape[1]), np.nan)
        table[name][first, second], table[name][second, first] = values, mirrored
        table[name][..., ~_varies(effects)] = np.nan
    return table


def _varies(effects: Float[np.ndarray, "source cell"]) -> Bool[np.ndarray, " cell"]:
    return (effects**2).sum(axis=0) > _ROUNDING**2  # not so where a source has no number, either


def _ratios(
    effects: Float[np.ndarray, "source cell"], labels: Int[np.ndarray, "labelling source"]
) -> tuple[Float[np.ndarray, "labelling pair cell"], ...]:
    """Size of every difference between two categories in standard errors, the difference and the error.

    `effects` have mean 0 over sources. Ratios are 0 where they do not vary.
    """
    members = (labels[:, None] == np.arange(labels.max() + 1)[:, None]).astype(float)
    sizes = members[0].sum(axis=1)
    means = members @ effects / sizes[:, None]
    first, second = np.triu_indices(len(sizes), 1)
    difference = means[:, first] - means[:, second]
    total = (effects**2).sum(axis=0)
    # Never quite 0, as it can be where effects take few values.
    within = np.maximum(total - (sizes[:, None] * means**2).sum(axis=1), _ROUNDING * total)
    within /= len(effects) - len(sizes)
    error = np.sqrt(within[:, None] * (1 / sizes[first] + 1 / sizes[second])[:, None])
    ratio = np.zeros_like(difference)
    return np.divide(np.abs(difference), error, out=ratio, where=_varies(effects) & (error > 0)), difference, error
