"""Both tests of the categories, and the damage by each category's heads to the tasks of every category."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from jaxtyping import Float

from headcats.evidence.chosen_heads import Chosen, damage_by_labelling
from headcats.evidence.damage import TaskDamage
from headcats.evidence.labelling_statistics import Damages, is_damaged, similarity, unit_damage
from headcats.evidence.relabelling import Labellings
from headcats.evidence.verdicts import relabelling_table
from headcats.statistics.distributions import t_quantile
from headcats.sweeps.tree import HeadSet

Heads = dict[str, dict[str, HeadSet]]
"""Task -> category -> heads of the category, chosen without the task."""
_SPECIFICITY = ("specificity", "specificity_low", "specificity_high")


def heads_of_labels(chosen: Mapping[str, Chosen], categories: Sequence[str]) -> Heads:
    """Heads that the true labels pick."""
    return {
        task: {name: sets[which[0, place]] for place, name in enumerate(categories)}
        for task, (sets, which) in chosen.items()
    }


def tested_categories(
    effects: tuple[Float[np.ndarray, "task head"], Float[np.ndarray, "task head"]],
    labellings: Labellings,
    chosen: Mapping[str, Chosen],
    shares: Mapping[str, Float[np.ndarray, " set"]],
    *,
    categories: Sequence[str],
    measured: Mapping[str, TaskDamage],
) -> tuple[xr.Dataset, xr.Dataset]:
    """The nodes `relabelling` and `specificity` (docs/schema.md) from effects of heads on both halves of the items."""
    damage = np.stack(
        [
            damage_by_labelling(shares[task], sets, which) if task in shares else np.full(which.shape, np.nan)
            for task, (sets, which) in chosen.items()
        ],
        axis=1,
    )
    damaged = is_damaged(damage)
    damage[:, ~damaged] = np.nan
    table = specificity(damage, labellings, heads_of_labels(chosen, categories), measured, categories=categories)
    tested = relabelling_table(similarity(*effects), damage, labellings, tasks=list(chosen), specificity=table)
    return tested.assign(damaged=("task", damaged)), table


def specificity(
    damage: Damages,
    labellings: Labellings,
    heads: Mapping[str, Mapping[str, HeadSet]],
    measured: Mapping[str, TaskDamage],
    *,
    categories: Sequence[str],
) -> xr.Dataset:
    """Damage by category of heads and category of tasks, with the true labels, in shares of the gap; NaN is left out.

    Specificity = a category's own cell minus the mean of the other cells of its row. Means and 95 % intervals
    (Student's t, Welch's degrees of freedom) are over units. Variables: docs/schema.md, "Evidence nodes".
    """
    values, labels = unit_damage(damage[:1], labellings)[0], labellings.unit_labels[0]
    places = range(len(categories))
    groups = [[_numbers(values[labels == target, row]) for target in places] for row in places]
    columns = {
        **_columns(("damage", "low", "high"), [[t_contrast([group], [1.0]) for group in row] for row in groups]),
        **_columns(_SPECIFICITY, [_specificity(groups[row], row) for row in places]),
    }
    tasks, grid, per_task = list(heads), ("category", "target"), ("category", "task")
    names = [[" ".join(map(str, heads[task][name])) for task in tasks] for name in categories]
    shown = [measured.get(task) for task in tasks]
    return xr.Dataset(
        {
            **{name: (grid[: numbers.ndim], numbers) for name, numbers in columns.items()},
            "n_units": (grid, np.array([[len(group) for group in row] for row in groups], dtype=np.int64)),
            "task_damage": (per_task, damage[0].T),
            "heads": (per_task, np.array(names, dtype=str)),
            "gap": ("task", np.array([np.nan if found is None else found.gap.mean() for found in shown])),
            "n_prompts": ("task", np.array([0 if found is None else len(found.gap) for found in shown])),
            "n_items": ("task", np.array([0 if found is None else len(set(found.items)) for found in shown])),
        },
        coords={
            "category": list(categories),
            "target": list(categories),
            "task": tasks,
            "task_category": ("task", np.array([categories[label] for label in labellings.labels[0]], dtype=str)),
        },
    )


def t_contrast(groups: Sequence[Float[np.ndarray, " _"]], weights: Sequence[float]) -> tuple[float, float, float]:
    """Weighted sum of the means of some groups, and its 95 % interval by Student's t with Welch's degrees of freedom.

    A group of a single value is taken to vary like the others; NaN for an empty group, and for the interval of singles.
    """
    if not all(map(len, groups)):
        return math.nan, math.nan, math.nan
    estimate = sum(weight * float(group.mean()) for group, weight in zip(groups, weights, strict=True))
    sizes, squared = np.array([len(group) for group in groups]), np.array(weights) ** 2
    freedom = sizes - 1
    if not freedom.any():
        return estimate, math.nan, math.nan
    several = freedom > 0
    variances = np.array([group.var(ddof=1) for group in groups if len(group) > 1])
    # Groups of one value share the pooled variance of the others.
    shares = squared[several] / sizes[several] + squared[~several].sum() * freedom[several] / freedom.sum()
    variance = (shares * variances).sum()
    if not variance:
        return estimate, estimate, estimate
    total = variance**2 / ((shares * variances) ** 2 / freedom[several]).sum()
    half = float(t_quantile(0.025, total) * np.sqrt(variance))
    return estimate, estimate - half, estimate + half


def _columns(names: Sequence[str], rows: Sequence[Any]) -> dict[str, np.ndarray]:
    """Estimates with their intervals, in the last place of `rows`, by name."""
    return dict(zip(names, np.moveaxis(np.array(rows, dtype=float), -1, 0), strict=True))


def _specificity(groups: Sequence[Float[np.ndarray, " _"]], own: int) -> tuple[float, float, float]:
    """A row's own cell minus the mean of its other cells."""
    others = [group for place, group in enumerate(groups) if place != own and len(group)]
    if not others:
        return math.nan, math.nan, math.nan
    return t_contrast([groups[own], *others], [1.0, *[-1 / len(others)] * len(others)])


def _numbers(values: Float[np.ndarray, " _"]) -> Float[np.ndarray, " _"]:
    return values[~np.isnan(values)]
