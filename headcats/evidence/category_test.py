"""Both tests of the categories, from effects of single heads and the damage by all sets that any labelling picks."""

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr
from jaxtyping import Float

from headcats.evidence.causal import is_damaged
from headcats.evidence.chosen_heads import Chosen, damage_by_labelling
from headcats.evidence.damage import TaskDamage
from headcats.evidence.relabelling import Labellings
from headcats.evidence.signature import similarity
from headcats.evidence.specificity import specificity
from headcats.evidence.verdicts import relabelling_table
from headcats.sweeps.tree import HeadSet

Heads = dict[str, dict[str, HeadSet]]
"""Task -> category -> heads of the category, chosen without the task."""


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
    """The nodes `relabelling` and `specificity`: docs/schema.md, "Evidence nodes".

    Args:
        effects: Effects of heads on both halves of the query items.
        labellings: Labels of the tasks, the true ones first.
        chosen: Task -> its sets of heads.
        shares: Task -> damage by these sets, as a share of the gap; tasks without are not measured.
        categories: Their names.
        measured: Prompts of the damages, for their numbers.
    """
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
