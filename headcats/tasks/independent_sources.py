"""Independent sources: tasks that share words, a template or a group are one replicate of a category, not several.

Compared is all that a task could ask about, not what a study draws of it: the number of prompts changes nothing.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import scipy
from jaxtyping import Bool, Float, Int

from headcats.tasks.definition import Task
from headcats.tasks.material import Material, material

SHARED_WORDS = 1 / 3
"""Share of inputs or answers from which on two tasks are linked."""
_TIE = 1e-9  # means of shares are rounded


@dataclass(frozen=True)
class Sources:
    """Sources of the tasks of a suite; keys are tasks, in the order of the suite."""

    labels: Mapping[str, str]
    """The group that the user names, or the first task of the source."""
    joined_by: Mapping[str, str]
    """What a task shares with others of its source, such as "inputs, answers"; "" of a task alone."""
    linked: Mapping[str, tuple[str, ...]]
    """Tasks of other sources that share at least a third of its inputs or answers."""
    templates: Mapping[str, str]
    """Of finished prompts alone: words of nearly all clean ones, in alphabetical order; "" where there are none."""


def independent_sources(tasks: Sequence[Task]) -> Sources:
    """Find which tasks are one source, from their pairs, for which each is asked with seeds of its own.

    Two tasks are linked if they share a third of their inputs, of the task with fewer, or of their answers, of the
    task with more: a few answers, such as digits, are part of many others. The number of texts that a task can draw is
    estimated from two draws (Lincoln-Petersen). Lists of words hardly ever repeat: two tasks with such inputs are
    compared by their words. The inputs of finished prompts are the words that differ between clean and corrupted.

    One source are tasks that are linked on average (average linkage), those of finished prompts with one template and
    corruption, and those of one `group`; a group with the name of a task holds it too. Answers that all tasks share,
    and a template and corruption that all have, join none: no category can differ from another by them.

    References:
        Sokal & Michener (1958), Univ. Kansas Sci. Bull. 38, 1409 (average linkage); Seber (1982), The Estimation of
        Animal Abundance (Lincoln-Petersen).
    """
    names, materials = [task.name for task in tasks], [material(task) for task in tasks]
    inputs, answers = _matrix(materials, Material.shared_inputs), _matrix(materials, Material.shared_answers)
    if (answers >= SHARED_WORDS).all():
        answers = np.eye(len(tasks))
    contrasts = _overlap([{of_task.contrast} - {None} for of_task in materials])
    reasons = {
        "inputs": inputs >= SHARED_WORDS,
        "answers": answers >= SHARED_WORDS,
        "template and corruption": contrasts & (not contrasts.all()),
        "group": _overlap([{task.group, task.name} - {None} for task in tasks]),
    }
    shared = np.maximum(inputs, answers)
    joined = _averaged(shared) | reasons["template and corruption"] | reasons["group"]
    numbers = scipy.sparse.csgraph.connected_components(joined)[1]
    together = numbers[:, None] == numbers
    linked = (shared >= SHARED_WORDS) & ~together
    others = together & ~np.eye(len(tasks), dtype=bool)
    labels, joined_by = {}, {}
    for place, (name, of_task) in enumerate(zip(names, materials, strict=True)):
        members = np.flatnonzero(together[place]).tolist()
        labels[name] = next(filter(None, (tasks[member].group for member in members)), names[members[0]])
        joined_by[name] = ", ".join(
            "differing words" if reason == "inputs" and of_task.is_finished else reason
            for reason, alike in reasons.items()
            if (alike & others)[place].any()
        )
    return Sources(
        labels,
        joined_by,
        {name: tuple(names[other] for other in np.flatnonzero(row)) for name, row in zip(names, linked, strict=True)},
        {name: of_task.template for name, of_task in zip(names, materials, strict=True) if of_task.is_finished},
    )


def _matrix(
    materials: Sequence[Material], share: Callable[[Material, Material], float]
) -> Float[np.ndarray, "task task"]:
    """Shares of all pairs of tasks, each with itself 1."""
    shares = np.eye(len(materials))
    for row, column in combinations(range(len(materials)), 2):
        shares[row, column] = shares[column, row] = share(materials[row], materials[column])
    return shares


def _overlap(marks: Sequence[AbstractSet[Hashable]]) -> Bool[np.ndarray, "task task"]:
    """True where two tasks have a mark in common."""
    return np.array([[not one.isdisjoint(other) for other in marks] for one in marks])


def _averaged(shared: Float[np.ndarray, "task task"]) -> Bool[np.ndarray, "task task"]:
    """True for tasks of one cluster: its tasks share a third on average (average linkage)."""
    if len(shared) < 2:
        return np.ones_like(shared, dtype=bool)
    tree = scipy.cluster.hierarchy.linkage(1 - shared[np.triu_indices(len(shared), k=1)], "average")
    clusters: Int[np.ndarray, " task"] = scipy.cluster.hierarchy.fcluster(tree, 1 - SHARED_WORDS + _TIE, "distance")
    return clusters[:, None] == clusters
