"""Other labels for the same tasks: what a verdict on categories is measured against.

Tasks that ask about the same words are alike for that reason alone, so blocks of them keep their labels together;
docs/relabelling.md derives the test.
"""

import math
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from jaxtyping import Bool, Float, Int

from headcats.statistics.random_streams import stream

SHARED_WORDS = 1 / 3
"""Share of its vocabulary from which on a task is linked with another one, for the task with fewer items."""
# Statistics are rounded differently when tasks come in another order: a smaller difference is a tie, which counts.
_TIE = 1e-9


@dataclass(frozen=True)
class Labellings:
    """Labels of tasks, and others that are as likely if labels mean nothing."""

    # place of every task's category, the true labels first; no two rows divide the tasks alike
    labels: Int[np.ndarray, "labelling task"]
    # unit of every task, one replicate each: a block of one category, or a task of a block with several
    units: Int[np.ndarray, " task"]
    # True if one task may say something about the other: of other units that share no words
    comparable: Bool[np.ndarray, "task task"]
    possible: int  # number of ways to divide the tasks that could have been drawn, the true one among them
    n_categories: int

    @property
    def members(self) -> Float[np.ndarray, "labelling task category"]:
        """1 where a task has the label."""
        return _indicators(self.labels, self.n_categories)

    @property
    def unit_labels(self) -> Int[np.ndarray, "labelling unit"]:
        """Labels of the units."""
        return self.labels[:, np.unique(self.units, return_index=True)[1]]

    @property
    def unit_members(self) -> Float[np.ndarray, "labelling unit category"]:
        """1 where a unit has the label."""
        return _indicators(self.unit_labels, self.n_categories)

    @property
    def tasks_of_units(self) -> Float[np.ndarray, "task unit"]:
        """1 where a task belongs to a unit."""
        return _indicators(self.units, int(self.units.max(initial=-1)) + 1)


def shared_words(vocabularies: Sequence[Collection[str]]) -> Float[np.ndarray, "task task"]:
    """Share of one task's vocabulary that another one has, too: of the task with fewer items, 0 to 1."""
    words = [set(of_task) for of_task in vocabularies]
    return np.array(
        [[len(one & other) / max(1, min(len(one), len(other))) for other in words] for one in words]
    ).reshape(len(words), len(words))


def vocabulary_blocks(shared: Float[np.ndarray, "task task"]) -> Int[np.ndarray, " task"]:
    """Number of each task's block: tasks that share at least a third of their words, by average linkage."""
    if len(shared) < 2:
        return np.zeros(len(shared), dtype=int)
    distance = 1 - shared[np.triu_indices(len(shared), k=1)]
    tree = scipy.cluster.hierarchy.linkage(distance, "average")
    blocks = scipy.cluster.hierarchy.fcluster(tree, 1 - SHARED_WORDS + _TIE, "distance")
    _, first, numbers = np.unique(blocks, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[numbers]


def draw_labellings(
    labels: Int[np.ndarray, " task"], shared: Float[np.ndarray, "task task"], *, n_categories: int, n: int, seed: int
) -> Labellings:
    """The labels of some tasks and up to `n` others, drawn without repetition; `shared` as in `shared_words`.

    A block with several categories exchanges labels between its tasks, blocks of one category exchange theirs as
    wholes.
    """
    blocks = vocabulary_blocks(shared)
    groups = [np.flatnonzero(blocks == block) for block in range(blocks.max(initial=-1) + 1)]
    pure = [group for group in groups if len(set(labels[group].tolist())) == 1]
    mixed = [group for group in groups if len(set(labels[group].tolist())) > 1]
    parts = [labels[[group[0] for group in pure]], *(labels[group] for group in mixed)]
    counts = np.array([np.bincount(part, minlength=n_categories) for part in parts if len(part)], dtype=int)
    # Categories with the same numbers of blocks and tasks can trade names, which divides the tasks as before.
    alike = Counter(map(tuple, counts.T.tolist())) if len(counts) else Counter()
    names = math.prod(math.factorial(number) for profile, number in alike.items() if any(profile))
    possible = math.prod(_arrangements(row) for row in counts.tolist()) // names
    draws = stream(seed, *map(str, labels.tolist()), "relabelling tasks")
    drawn = {_division(labels): labels}
    while len(drawn) < min(n + 1, possible):
        new = labels.copy()
        for group, label in zip(pure, draws.permutation(parts[0]), strict=True):
            new[group] = label
        for group in mixed:
            new[group] = draws.permutation(labels[group])
        drawn.setdefault(_division(new), new)
    units = blocks * len(labels)
    for group in mixed:
        units[group] += np.arange(len(group))
    units = np.unique(units, return_inverse=True)[1]
    linked = (shared >= SHARED_WORDS) & (blocks[:, None] != blocks)
    comparable = (units[:, None] != units) & ~linked
    return Labellings(np.stack(list(drawn.values())), units, comparable, possible, n_categories)


def family_wise_p(statistic: Float[np.ndarray, "labelling category"]) -> Float[np.ndarray, "labelling category"]:
    """Share of labellings, itself included, with a category whose statistic is as large; NaN without a statistic."""
    reaching = (maxima(statistic)[:, None, None] >= statistic - _TIE).sum(axis=0)
    return np.where(np.isnan(statistic), np.nan, reaching / max(1, len(statistic)))


def maxima(statistic: Float[np.ndarray, "labelling category"]) -> Float[np.ndarray, " labelling"]:
    """The largest statistic of every labelling; NaN where no category has one."""
    return np.fmax.reduce(statistic, axis=1, initial=np.nan)


def mean_over(
    values: Float[np.ndarray, "*row task cell"], groups: Float[np.ndarray, "*row task group"]
) -> Float[np.ndarray, "*row group cell"]:
    """Mean over the tasks of every group; NaN do not count, and are the mean where there is nothing else."""
    counted = ~np.isnan(values)
    sums = np.einsum("...tg,...tc->...gc", groups, np.where(counted, values, 0.0), optimize=True)
    with np.errstate(invalid="ignore"):
        return sums / np.einsum("...tg,...tc->...gc", groups, counted.astype(float), optimize=True)


def minus_other_categories(means: Float[np.ndarray, "*row category cell"]) -> Float[np.ndarray, "*row category cell"]:
    """Every category's value minus the mean over the other categories that have one; NaN where none has."""
    has = ~np.isnan(means)
    values = np.where(has, means, 0.0)
    n_others = has.sum(axis=-2, keepdims=True) - has
    with np.errstate(divide="ignore", invalid="ignore"):
        return means - (values.sum(axis=-2, keepdims=True) - values) / np.where(n_others > 0, n_others, np.nan)


def _indicators(labels: Int[np.ndarray, "*cell"], n: int) -> Float[np.ndarray, "*cell label"]:
    return (labels[..., None] == np.arange(n)).astype(float)


def _division(labels: Int[np.ndarray, " task"]) -> tuple[int, ...]:
    """Division of the tasks, the same for labels that differ by the names of categories alone."""
    first = {label: place for place, label in enumerate(dict.fromkeys(labels.tolist()))}
    return tuple(first[label] for label in labels.tolist())


def _arrangements(counts: Sequence[int]) -> int:
    return math.factorial(sum(counts)) // math.prod(map(math.factorial, counts))
