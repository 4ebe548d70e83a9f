"""Both tests of the categories, and the damage by each category's heads to the tasks of every category."""

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr
from jaxtyping import Float

from headcats.evidence.chosen_heads import Chosen, damage_by_labelling
from headcats.evidence.confounders import StratifiedLabellings
from headcats.evidence.labelling_statistics import is_damaged, mean_of_sources, similarity, source_damage
from headcats.evidence.verdicts import relabelling_table
from headcats.statistics.labellings import Labellings


def tested_categories(
    effects: tuple[Float[np.ndarray, "task head"], Float[np.ndarray, "task head"]],
    stratified: StratifiedLabellings,
    chosen: Mapping[str, Chosen],
    shares: Mapping[str, Float[np.ndarray, " set"]],
    *,
    categories: Sequence[str],
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
    tasks = list(chosen)
    table = damage_table(damage[0], stratified.labellings, chosen, categories=categories)
    tested = relabelling_table(similarity(*effects), damage, stratified, tasks=tasks, categories=list(categories))
    return tested.assign(damaged=("task", damaged)), table


def damage_table(
    damage: Float[np.ndarray, "task category"],
    labellings: Labellings,
    chosen: Mapping[str, Chosen],
    *,
    categories: Sequence[str],
) -> xr.Dataset:
    """Damage by category of heads and category of tasks, with the true labels, in shares of the gap; NaN is left out.

    Means are over independent sources. Variables: docs/schema.md, "Evidence nodes".
    """
    by_source = source_damage(damage[None], labellings)
    tasks, grid, per_task = list(chosen), ("category", "target"), ("category", "task")
    names = [
        [" ".join(map(str, sets[which[0, place]])) for sets, which in chosen.values()]
        for place in range(len(categories))
    ]
    return xr.Dataset(
        {
            "damage": (grid, mean_of_sources(by_source)[0].T),
            "n_sources": ("category", np.diagonal((~np.isnan(by_source[0])).sum(axis=0))),
            "task_damage": (per_task, damage.T),
            "heads": (per_task, np.array(names, dtype=str)),
        },
        coords={
            "category": list(categories),
            "target": list(categories),
            "task": tasks,
            "task_category": ("task", np.array(categories)[labellings.labels[0]]),
        },
    )
