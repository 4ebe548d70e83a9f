"""Signature: are the effects of the heads on tasks of one category more alike than on tasks of different categories?

Rows of effects, one a task and half of the query items, are scaled to norm 1, what all tasks share is projected out,
and rows of one half are compared with those of the other, whose noise is independent. docs/relabelling.md says why.
"""

import numpy as np
from jaxtyping import Float

from headcats.evidence.relabelling import Labellings, mean_over

# Variance of a unit row that is the task's own even without noise: keeps a few very clear tasks from being taken for
# what all tasks share.
_BETWEEN_TASKS = 0.02

Rows = Float[np.ndarray, "task head"]


def similarity(first: Rows, second: Rows) -> Float[np.ndarray, "task task"]:
    """Cosines between the residual rows of tasks, of one half with the other; symmetric, in -1 to 1, 0 for zeros.

    The shared profile of a half is the mean of its unit rows weighted by `sqrt(r) / (1 - r + .02)`, where r is the
    cosine between both halves of a task.
    """
    halves = _unit(first), _unit(second)
    reliability = np.clip((halves[0] * halves[1]).sum(axis=1), 0, 1)
    weights = np.sqrt(reliability) / (1 - reliability + _BETWEEN_TASKS)
    residuals = []
    for rows in halves:
        shared = _unit((weights if weights.any() else np.ones(len(rows)))[None] @ rows)[0]
        residuals.append(_unit(rows - np.outer(rows @ shared, shared)))
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


def unit_contrasts(between: Float[np.ndarray, "unit unit"], labellings: Labellings) -> Float[np.ndarray, " unit"]:
    """Mean cosine of every unit with the others of its true category minus that with units of other categories."""
    labels = labellings.unit_labels[0]
    same = (labels[:, None] == labels).astype(float)
    both = np.stack([same, 1 - same], axis=-1)
    means = mean_over(between[:, :, None], both)[..., 0]
    return means[:, 0] - means[:, 1]


def _unit(rows: Rows) -> Rows:
    norm = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.divide(rows, norm, where=norm > 0, out=np.zeros_like(rows))
