"""Causal test: do a category's heads damage its own tasks more than the tasks of other categories?

The damage by every set of heads that any labelling picks is measured once; docs/relabelling.md derives the test.
"""

import numpy as np
from jaxtyping import Bool, Float

from headcats.evidence.relabelling import Labellings, mean_over, minus_other_categories

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


def unit_damage(damage: Damages, labellings: Labellings) -> Float[np.ndarray, "labelling unit category"]:
    """Mean damage over the tasks of every unit; NaN without a number."""
    return mean_over(
        damage, np.broadcast_to(labellings.tasks_of_units, (len(damage), *labellings.tasks_of_units.shape))
    )


def causal_statistic(damage: Damages, labellings: Labellings) -> Float[np.ndarray, "labelling category"]:
    """Relative damage by a category's heads on its own units minus the mean over other categories; NaN without heads.

    Times the root of the number of its units, so that categories of different sizes compare.
    """
    by_unit, members = unit_damage(relative_damage(damage), labellings), labellings.unit_members
    own_minus_others = np.diagonal(minus_other_categories(mean_over(by_unit, members)), 0, 1, 2)
    n_own = np.einsum("luc,luc->lc", members, (~np.isnan(by_unit)).astype(float))
    return own_minus_others * np.sqrt(n_own)


def unit_specificity(damage: Damages, labellings: Labellings) -> Float[np.ndarray, " unit"]:
    """Relative damage of every unit by its true category's heads, minus their mean damage to other categories."""
    by_unit, labels = unit_damage(relative_damage(damage), labellings)[0], labellings.unit_labels[0]
    cells = mean_over(by_unit, labellings.unit_members[0])
    elsewhere = np.diagonal(cells) - np.diagonal(minus_other_categories(cells))
    return by_unit[np.arange(len(labels)), labels] - elsewhere[labels]
