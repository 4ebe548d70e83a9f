"""Heads ablated one after the other: how damage grows on a category's own tasks, on others, and for random heads."""

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr

from headcats.evidence.controls import growing_sequences
from headcats.evidence.damage import TaskDamage
from headcats.evidence.selection import Selection
from headcats.models import Head
from headcats.sweeps.joint import cumulative
from headcats.sweeps.tree import HeadSet

MOST_HEADS = 12
RANDOM_SEQUENCES = 10
SIDES = ("own", "others")

Sequences = Mapping[str, Mapping[str, tuple[tuple[Head, ...], list[HeadSet]]]]
"""Task -> category of the heads -> its sequence of heads, and random ones."""


def sequences(selections: Mapping[str, Mapping[str, Selection]], n_heads: Mapping[int, int], *, seed: int) -> Sequences:
    """The heads of every category in the order of their category-specific effect, and random ones of the same layers.

    Args:
        selections: Task -> category -> heads that were chosen without the task.
        n_heads: Layer -> number of heads.
        seed: Seed of the random sequences.
    """
    return {
        task: {
            category: (
                one.members[:MOST_HEADS],
                growing_sequences(one.members[:MOST_HEADS], n_heads, n=RANDOM_SEQUENCES, seed=seed),
            )
            for category, one in found.items()
        }
        for task, found in selections.items()
    }


def sets_of(designed: Sequences, task: str) -> set[HeadSet]:
    """Every set of heads that the curves of a task need."""
    return {
        tuple(sorted(heads))
        for own, random in designed[task].values()
        for sequence in (own, *random)
        for heads in cumulative(sequence)
    }


def curves(designed: Sequences, measured: Mapping[str, TaskDamage], *, categories: Sequence[str]) -> xr.Dataset:
    """Damage after the first 1, 2, ... heads of each category.

    On every task the heads are those that were chosen without it, so a task drops out where its list ends; `n_tasks`
    says how many are left. `others` is the mean over the other categories of the means over their tasks.

    Args:
        designed: See `sequences`.
        measured: Task -> damages.
        categories: Categories in the order of the result.

    Returns:
        `damage (category, side, k)` and `random (category, side, k, sequence)` in shares of the gap, `n_tasks
        (category, side, k)`; side "own" or "others", k = number of heads. NaN where no task has so many.
    """
    tasks = [task for task in designed if task in measured]
    longest = max((len(own) for task in tasks for own, _ in designed[task].values()), default=0)
    shape = (len(categories), len(SIDES), longest)
    damage, counts = np.full(shape, np.nan), np.zeros(shape, dtype=np.int64)
    random = np.full((*shape, RANDOM_SEQUENCES), np.nan)
    for row, category in enumerate(categories):
        grown = {task: _grown(*designed[task][category], measured[task], longest) for task in tasks}
        for column, side in enumerate(SIDES):
            groups = [
                [grown[task] for task in tasks if measured[task].category == target]
                for target in categories
                if (target == category) == (side == "own")
            ]
            means = [_mean([one[:, 0] for one in group]) for group in groups if group]
            damage[row, column] = _mean(means) if means else np.nan
            counts[row, column] = sum(~np.isnan(one[:, 0]) for group in groups for one in group)
            means = [_mean([one[:, 1:] for one in group]) for group in groups if group]
            random[row, column] = _mean(means) if means else np.nan
    return xr.Dataset(
        {
            "damage": (("category", "side", "k"), damage),
            "n_tasks": (("category", "side", "k"), counts),
            "random": (("category", "side", "k", "sequence"), random),
        },
        coords={"category": list(categories), "side": list(SIDES), "k": np.arange(1, longest + 1)},
    )


def _grown(own: tuple[Head, ...], random: Sequence[HeadSet], found: TaskDamage, longest: int) -> np.ndarray:
    """Damage `[k, own and random sequences]`."""
    values = np.full((longest, 1 + len(random)), np.nan)
    for column, sequence in enumerate((own, *random)):
        values[: len(sequence), column] = found.of(cumulative(sequence)) if sequence else np.nan
    return values


def _mean(values: Sequence[np.ndarray]) -> np.ndarray:
    stacked = np.stack(values)
    known = ~np.isnan(stacked)
    return np.where(known, stacked, 0.0).sum(axis=0) / np.where(known.any(axis=0), known.sum(axis=0), np.nan)
