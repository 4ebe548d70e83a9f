"""Labels of tasks, and others that are as likely if labels mean nothing."""

import math
from collections import Counter
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from headcats.statistics.random_streams import stream

LEAST_LABELLINGS = 20
"""Labellings from which on a p can reach .05."""


@dataclass(frozen=True)
class Labellings:
    """Divisions of the tasks into categories: the true labels first, then drawn ones."""

    # place of every task's category, the true labels first; no two rows divide the tasks alike
    labels: Int[np.ndarray, "labelling task"]
    # unit of every task, one replicate each: a source of one category, or a task of a source with several
    units: Int[np.ndarray, " task"]
    # number of every task's independent source, which may hold several units
    sources: Int[np.ndarray, " task"]
    # True if one task may say something about the other: of other units that are not linked
    comparable: Bool[np.ndarray, "task task"]
    possible: int  # number of ways to divide the tasks that could have been drawn, the true one among them
    n_categories: int

    @property
    def members(self) -> Float[np.ndarray, "labelling task category"]:
        """1 where a task has the label."""
        return _indicators(self.labels, self.n_categories)

    @property
    def unit_members(self) -> Float[np.ndarray, "labelling unit category"]:
        """1 where a unit has the label."""
        return self.members[:, np.unique(self.units, return_index=True)[1]]

    @property
    def tasks_of_sources(self) -> Float[np.ndarray, "task source"]:
        """1 where a task belongs to a source."""
        return _indicators(self.sources, int(self.sources.max(initial=-1)) + 1)

    @property
    def tasks_of_units(self) -> Float[np.ndarray, "task unit"]:
        """1 where a task belongs to a unit."""
        return _indicators(self.units, int(self.units.max(initial=-1)) + 1)


def draw_labellings(
    labels: Int[np.ndarray, " task"],
    sources: Int[np.ndarray, " task"],
    linked: Bool[np.ndarray, "task task"] | None = None,
    *,
    strata: Int[np.ndarray, " task"] | None = None,
    n_categories: int,
    n: int,
    seed: int,
) -> Labellings:
    """The labels of some tasks and up to `n` others, drawn without repetition.

    `sources` has the number of each task's independent source; `linked` is True for tasks of different sources that
    share words, None where none do. A source with several categories exchanges labels between its tasks, sources of one
    category exchange theirs as wholes; both only within one of the `strata`, a whole in that of most of its tasks.
    """
    stratum_of = np.zeros(len(labels), dtype=int) if strata is None else strata
    groups = [np.flatnonzero(sources == source) for source in np.unique(sources)]
    units = sources * len(labels)
    # What exchanges labels: of every stratum its sources of one category, of every other source its tasks.
    exchanged: dict[tuple[int, int], list[Int[np.ndarray, " task"]]] = {}
    for number, group in enumerate(groups):
        if len(set(labels[group].tolist())) == 1:
            exchanged.setdefault((-1, int(np.bincount(stratum_of[group]).argmax())), []).append(group)
        else:
            units[group] += np.arange(len(group))
            for task in group:
                exchanged.setdefault((number, int(stratum_of[task])), []).append(np.array([task]))
    held = [labels[[members[0] for members in each]] for each in exchanged.values()]
    counts = np.array([np.bincount(part, minlength=n_categories) for part in held], dtype=int)
    # Categories with the same numbers of sources and tasks can trade names, which divides the tasks as before.
    alike = Counter(map(tuple, counts.T.tolist())) if len(counts) else Counter()
    names = math.prod(math.factorial(number) for profile, number in alike.items() if any(profile))
    possible = (
        math.prod(math.factorial(sum(row)) // math.prod(map(math.factorial, row)) for row in counts.tolist()) // names
    )
    draws = stream(seed, *map(str, labels.tolist()), "relabelling tasks")
    drawn = {_division(labels): labels}
    while len(drawn) < min(n + 1, possible):
        new = labels.copy()
        for each, part in zip(exchanged.values(), held, strict=True):
            for members, label in zip(each, draws.permutation(part), strict=True):
                new[members] = label
        drawn.setdefault(_division(new), new)
    units = np.unique(units, return_inverse=True)[1]
    comparable = units[:, None] != units
    if linked is not None:
        comparable &= ~linked
    return Labellings(np.stack(list(drawn.values())), units, sources, comparable, possible, n_categories)


def _indicators(labels: Int[np.ndarray, "*cell"], n: int) -> Float[np.ndarray, "*cell label"]:
    return (labels[..., None] == np.arange(n)).astype(float)


def _division(labels: Int[np.ndarray, " task"]) -> tuple[int, ...]:
    """Division of the tasks, the same for labels that differ by the names of categories alone."""
    first = {label: place for place, label in enumerate(dict.fromkeys(labels.tolist()))}
    return tuple(first[label] for label in labels.tolist())
