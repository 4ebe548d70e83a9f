"""Cumulative ablation: damage as heads are added, on a category's own tasks and on others, beside random heads."""

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr
from jaxtyping import Float

from headcats.evidence.controls import growing_sequences
from headcats.evidence.damage import TaskDamage
from headcats.evidence.trials import Selection, finite_mean
from headcats.sweeps.tree import HeadSet

MOST_HEADS = 12
RANDOM_SEQUENCES = 10
SIDES = ("own", "others")

Sequences = Mapping[str, Mapping[str, tuple[HeadSet, list[HeadSet]]]]
"""Task -> category of the heads -> its sequence of heads, and random ones."""


def sequences(selections: Mapping[str, Mapping[str, Selection]], n_heads: Mapping[int, int], *, seed: int) -> Sequences:
    """The heads of every category, the most specific first, and random sequences of the same layers.

    Task and category as in `selections`, whose heads were chosen without the task.
    """

    def with_random(heads: HeadSet) -> tuple[HeadSet, list[HeadSet]]:
        return heads, growing_sequences(heads, n_heads, n=RANDOM_SEQUENCES, seed=seed)

    return {
        task: {name: with_random(selection.members[:MOST_HEADS]) for name, selection in by_category.items()}
        for task, by_category in selections.items()
    }


def sets_of(designed: Sequences, task: str) -> set[HeadSet]:
    """Every set of heads that the curves of a task need."""
    return {
        tuple(sorted(heads))
        for members, random in designed[task].values()
        for sequence in (members, *random)
        for heads in _growing(sequence)
    }


def curves(designed: Sequences, measured: Mapping[str, TaskDamage], *, categories: Sequence[str]) -> xr.Dataset:
    """Damage after the first 1, 2, ... heads of each category.

    On every task the heads are those that were chosen without it, so a task drops out where its list ends; `n_tasks`
    counts the rest. Side "others" is the mean over the other categories of the means over their tasks.

    Variables: docs/schema.md. NaN where no task has so many heads.
    """
    tasks = [task for task in designed if task in measured]
    longest = max((len(members) for task in tasks for members, _ in designed[task].values()), default=0)
    shape = (len(categories), len(SIDES), longest)
    damage, counts = np.full(shape, np.nan), np.zeros(shape, dtype=np.int64)
    random = np.full((*shape, RANDOM_SEQUENCES), np.nan)
    for row, category in enumerate(categories):
        grown = {task: _grown(*designed[task][category], measured[task], longest) for task in tasks}
        for column, side in enumerate(SIDES):
            groups = [
                np.stack(group)
                for target in categories
                if (target == category) == (side == "own")
                and (group := [grown[task] for task in tasks if measured[task].category == target])
            ]
            if not groups:
                continue
            mean = finite_mean(np.stack([finite_mean(group) for group in groups]))
            damage[row, column], random[row, column] = mean[:, 0], mean[:, 1:]
            counts[row, column] = sum((~np.isnan(group[..., 0])).sum(axis=0) for group in groups)
    return xr.Dataset(
        {
            "damage": (("category", "side", "k"), damage),
            "n_tasks": (("category", "side", "k"), counts),
            "random": (("category", "side", "k", "sequence"), random),
        },
        coords={"category": list(categories), "side": list(SIDES), "k": np.arange(1, longest + 1)},
    )


def _growing(sequence: HeadSet) -> list[HeadSet]:
    """The first head, the first two, ..., all of them."""
    return [sequence[:k] for k in range(1, len(sequence) + 1)]


def _grown(
    members: HeadSet, random: Sequence[HeadSet], damage: TaskDamage, longest: int
) -> Float[np.ndarray, "k sequence"]:
    """Damage after k heads, by the members first and then by the random sequences."""
    values = np.full((longest, 1 + len(random)), np.nan)
    for column, sequence in enumerate((members, *random)):
        values[: len(sequence), column] = damage.shares(_growing(sequence)) if sequence else np.nan
    return values
