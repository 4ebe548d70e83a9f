"""Statistics of every category under every labelling of the tasks; docs/relabelling.md derives both tests.

Signature: are the effects of the heads on tasks of one category more alike than on tasks of different categories? Rows
of effects, one a task and half of the query items, are scaled to norm 1, what all tasks share is projected out, and
rows of one half are compared with those of the other, whose noise is independent. Ablation: do a category's heads
damage its own tasks more than the tasks of other categories? The damage by every set of heads that any labelling picks
is measured once.
"""

import numpy as np
from jaxtyping import Bool, Float

from headcats.evidence.relabelling import ALPHA, mean_over, minus_other_categories
from headcats.statistics.distributions import t_quantile
from headcats.statistics.labellings import Labellings

DAMAGED = 0.05
"""Share of the gap that at least one set has to damage a task by; other tasks tell nothing apart and take no part."""

Damages = Float[np.ndarray, "labelling task category"]


def is_damaged(damage: Damages) -> Bool[np.ndarray, " task"]:
    """True if any set that any labelling picks damages a task notably."""
    largest = np.where(np.isnan(damage), -np.inf, damage).max(axis=(0, 2), initial=-np.inf)
    return largest >= DAMAGED


def relative_damage(damage: Damages) -> Damages:
    """Damage over its root mean square over sets and labellings, task by task: fragile tasks count like others."""
    numbers = ~np.isnan(damage)
    squares = np.where(numbers, damage, 0.0) ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        size = np.sqrt(squares.sum(axis=(0, 2)) / numbers.sum(axis=(0, 2)))
        return np.where(numbers & (size[:, None] == 0), 0.0, damage / size[:, None])


def ablation_statistic(damage: Damages, labellings: Labellings) -> Float[np.ndarray, "labelling category"]:
    """Relative damage by a category's heads on its own units minus the mean over other categories; NaN without heads.

    Times the root of the number of its units, so that categories of different sizes compare.
    """
    units, members = labellings.tasks_of_units, labellings.unit_members
    by_unit = mean_over(relative_damage(damage), np.broadcast_to(units, (len(damage), *units.shape)))
    own_minus_others = np.diagonal(minus_other_categories(mean_over(by_unit, members)), 0, 1, 2)
    n_own = np.einsum("luc,luc->lc", members, (~np.isnan(by_unit)).astype(float))
    return own_minus_others * np.sqrt(n_own)


LEAST_SOURCES = 3
"""Independent sources of a category's tasks from which on the spread of its damage is known."""

_LEAST_SPREAD = 0.5  # of a category's own sources, in standard deviations of all categories'


def source_damage(damage: Damages, labellings: Labellings) -> Float[np.ndarray, "labelling source category target"]:
    """Mean damage over the tasks of every source in every category, by the heads of a target; NaN without a number.

    One replicate each: tasks of one source are none, also where the source has several categories.
    """
    counted, members = ~np.isnan(damage), labellings.members[: len(damage)]
    sums, counts = (
        np.einsum("ltc,ts,ltk->lsck", members, labellings.tasks_of_sources, values, optimize=True)
        for values in (np.where(counted, damage, 0.0), counted.astype(float))
    )
    with np.errstate(invalid="ignore"):
        return sums / counts


def mean_of_sources(
    by_source: Float[np.ndarray, "labelling source category target"],
) -> Float[np.ndarray, "labelling category target"]:
    """Mean over the sources that have a number; NaN where none has."""
    with np.errstate(invalid="ignore"):
        return np.nansum(by_source, axis=1) / (~np.isnan(by_source)).sum(axis=1)


def specificity_limits(
    damage: Damages, labellings: Labellings
) -> tuple[Float[np.ndarray, "labelling category"], Float[np.ndarray, "limit labelling category"]]:
    """Damage by a category's heads to its own sources minus the mean over other categories, with two limits.

    Each limit is one of 95 % on its side, by Student's t with the degrees of freedom of all categories' own sources: a
    few tell little of a spread, so theirs counts as at least half of that of all categories pooled. NaN without own or
    other sources; the limits also where the category's tasks are of fewer than 3.
    """
    by_source = source_damage(damage, labellings)
    means = mean_of_sources(by_source)
    estimate = np.diagonal(minus_other_categories(means), 0, 1, 2)
    counts = (~np.isnan(by_source)).sum(axis=1)
    squares = np.nansum((by_source - means[:, None]) ** 2, axis=1)
    n_own, own_squares = (np.diagonal(values, 0, 1, 2) for values in (counts, squares))
    freedom, other = np.maximum(counts - 1, 0), ~np.eye(counts.shape[-1], dtype=bool)
    own_freedom = np.diagonal(freedom, 0, 1, 2)
    with np.errstate(invalid="ignore", divide="ignore"):
        pooled = own_squares.sum(axis=1, keepdims=True) / own_freedom.sum(axis=1, keepdims=True)
        variance = np.fmax(own_squares / own_freedom, _LEAST_SPREAD**2 * pooled)
        elsewhere = (squares * other).sum(axis=1) / (freedom * other).sum(axis=1)
        elsewhere = np.where(np.isfinite(elsewhere), elsewhere, variance)
        n_others = ((counts > 0) & other).sum(axis=1)
        inverse = np.where(counts > 0, 1 / counts, 0.0)
        error = np.sqrt(variance / n_own + elsewhere * (inverse * other).sum(axis=1) / n_others**2)
        reach = t_quantile(ALPHA, np.maximum(own_freedom.sum(axis=1, keepdims=True), 1)) * error
    reach = np.where(n_own < LEAST_SOURCES, np.nan, reach)
    return estimate, np.stack([estimate - reach, estimate + reach])


# Variance of a unit row that is the task's own even without noise: keeps a few very clear tasks from being taken for
# what all tasks share.
_BETWEEN_TASKS = 0.02

Rows = Float[np.ndarray, "task head"]


def similarity(first: Rows, second: Rows) -> Float[np.ndarray, "task task"]:
    """Cosines between the residual rows of tasks, of one half with the other; symmetric, in -1 to 1, 0 for zeros.

    The shared profile of a half is the mean of its unit rows weighted by `sqrt(r) / (1 - r + .02)`, where r is the
    cosine between both halves of a task.
    """
    halves = unit_rows(first), unit_rows(second)
    reliability = np.clip((halves[0] * halves[1]).sum(axis=1), 0, 1)
    weights = np.sqrt(reliability) / (1 - reliability + _BETWEEN_TASKS)
    residuals = []
    for rows in halves:
        shared = unit_rows((weights if weights.any() else np.ones(len(rows)))[None] @ rows)[0]
        residuals.append(unit_rows(rows - np.outer(rows @ shared, shared)))
    cosines = residuals[0] @ residuals[1].T
    return (cosines + cosines.T) / 2


def between_units(cosines: Float[np.ndarray, "task task"], labellings: Labellings) -> Float[np.ndarray, "unit unit"]:
    """Mean cosine of the comparable tasks of two units; NaN where there are none, and for a unit with itself."""
    units = labellings.tasks_of_units
    comparable = labellings.comparable.astype(float)
    with np.errstate(invalid="ignore"):
        return (units.T @ (cosines * comparable) @ units) / (units.T @ comparable @ units)


def contrast(
    between: Float[np.ndarray, "unit unit"], labellings: Labellings
) -> tuple[Float[np.ndarray, "labelling category"], Float[np.ndarray, "labelling category"]]:
    """Mean cosine of pairs of a category's units minus that of its units with others, and the same as a statistic.

    The statistic is scaled by the numbers of pairs, so that categories of different sizes compare; NaN without a pair.
    """
    members = labellings.unit_members
    sums, counts = (
        np.einsum("luc,uv->lvc", members, pairs, optimize=True)
        for pairs in (np.nan_to_num(between), (~np.isnan(between)).astype(float))
    )
    n_within, n_across = (counts * members).sum(axis=1) / 2, (counts * (1 - members)).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        within = (sums * members).sum(axis=1) / 2 / n_within
        difference = within - (sums * (1 - members)).sum(axis=1) / n_across
        return difference, difference / np.sqrt(1 / n_within + 1 / n_across)


def unit_rows(rows: Rows) -> Rows:
    """Rows of norm 1; zeros stay."""
    norm = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.divide(rows, norm, where=norm > 0, out=np.zeros_like(rows))
