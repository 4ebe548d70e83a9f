"""Cumulative ablation: damage as heads are added, on a category's own tasks and on others, beside random heads."""

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr
from jaxtyping import Float

from headcats.evidence.damage import TaskDamage
from headcats.models.head import Head
from headcats.statistics.random_streams import stream
from headcats.sweeps.tree import HeadSet

MOST_HEADS = 8
RANDOM_SEQUENCES = 10
SIDES = ("own", "others")

Sequences = Mapping[str, Mapping[str, tuple[HeadSet, list[HeadSet]]]]
"""Task -> category of the heads -> its sequence of heads, and on its own tasks random ones."""


def sequences(
    ordered: Mapping[str, Mapping[str, HeadSet]],
    n_heads: Mapping[int, int],
    *,
    category_of: Mapping[str, str],
    seed: int,
) -> Sequences:
    """Heads in their order, of task -> category, and random ones of the same layers on the category's own tasks."""

    def random(task: str, name: str, heads: HeadSet) -> list[HeadSet]:
        return _random_sequences(heads, n_heads, seed=seed) if category_of[task] == name else []

    return {
        task: {name: (heads, random(task, name, heads)) for name, heads in by_category.items()}
        for task, by_category in ordered.items()
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
    """Damage after the first 1, 2, ... heads of each category, NaN where no task has so many (docs/schema.md).

    Heads were chosen without the task, which drops out where its list ends. Side "others" is the mean over the other
    categories of the means over their tasks; random heads are ablated on the category's own tasks alone.
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
            mean = _finite_mean(np.stack([_finite_mean(group) for group in groups]))
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
    values = np.full((longest, 1 + RANDOM_SEQUENCES), np.nan)
    for column, sequence in enumerate((members, *random)):
        values[: len(sequence), column] = damage.shares(_growing(sequence)) if sequence else np.nan
    return values


def _random_sequences(heads: HeadSet, n_heads: Mapping[int, int], *, seed: int) -> list[HeadSet]:
    """Sequences of other heads, the k-th of the same layer as the k-th of `heads`, else of the nearest."""
    drawn = []
    for number in range(RANDOM_SEQUENCES):
        draws = stream(seed, *map(str, heads), "growing sequence", str(number))
        free = {
            layer: [Head(layer, head) for head in range(count) if Head(layer, head) not in heads]
            for layer, count in n_heads.items()
        }
        sequence: list[Head] = []
        for head in heads:
            layers = [layer for layer, pool in free.items() if pool]
            if not layers:
                break
            pool = free[min(layers, key=lambda layer: (abs(layer - head.layer), layer))]
            sequence.append(pool.pop(int(draws.integers(len(pool)))))
        drawn.append(tuple(sequence))
    return drawn


def _finite_mean(values: Float[np.ndarray, " row *cell"]) -> Float[np.ndarray, " *cell"]:
    """Mean over rows of what is finite; NaN where nothing is (numpy would warn)."""
    finite = ~np.isnan(values)
    return np.where(finite, values, 0.0).sum(axis=0) / np.where(finite.any(axis=0), finite.sum(axis=0), np.nan)
