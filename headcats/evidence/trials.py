"""The test plan: heads of every category on every task, chosen without it, with their controls and relabellings."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from headcats.evidence.controls import Controls, coupled_controls, relabellings
from headcats.evidence.selection import Selection, most_specific
from headcats.sweeps.tree import HeadSet


@dataclass(frozen=True)
class Trial:
    """The heads of a category that are tested on one task, and what they are compared with.

    Attributes:
        heads: The tested heads, the most category-specific one first; chosen without the task.
        controls: Random sets without the tested heads.
        relabelled: Images of the heads by permutations within layers; the k-th of every trial of a row (a category's
            heads on all tasks) is by the same permutation.
        reason: Why there are no heads, as a clause, or "".
        shared: How many of the heads are in other categories too.
    """

    heads: HeadSet
    controls: Controls
    reason: str = ""
    shared: int = 0
    relabelled: tuple[HeadSet, ...] = ()


Trials = Mapping[str, Mapping[str, Trial]]
"""Task -> category of the heads -> trial."""


def trials(
    selections: Mapping[str, Mapping[str, Selection]],
    n_heads: Mapping[int, int],
    *,
    n: int,
    seed: int,
    exclusive: bool = False,
) -> Trials:
    """The tested heads, controls and relabellings of every category on every task.

    Args:
        selections: Task -> category -> heads that were chosen without the task.
        n_heads: Layer -> number of heads.
        n: Control sets, and relabellings, per tested set.
        seed: Seed of both.
        exclusive: Test heads that are in no other category.
    """
    designed: dict[str, dict[str, Trial]] = {task: {} for task in selections}
    for category in dict.fromkeys(name for by_category in selections.values() for name in by_category):
        row = {task: _trial(selection[category], n_heads, exclusive) for task, selection in selections.items()}
        sets = [trial.heads for trial in row.values()]
        controls = coupled_controls(sets, n_heads, n=n, seed=seed)
        images = relabellings(sets, n_heads, n=n, seed=seed)
        for task, trial in row.items():
            if key := tuple(sorted(trial.heads)):
                trial = replace(trial, controls=controls[key], relabelled=images[key])
            designed[task][category] = trial
    return designed


def sets_of(designed: Trials, task: str) -> set[HeadSet]:
    """Every set of heads that the trials of a task need."""
    needed: set[HeadSet] = set()
    for trial in designed[task].values():
        needed |= {tuple(sorted(trial.heads)), *trial.controls.sets, *trial.relabelled}
    return needed - {()}


def _trial(selection: Selection, n_heads: Mapping[int, int], exclusive: bool) -> Trial:
    """The heads alone, before controls are drawn."""
    heads = most_specific(selection.exclusive if exclusive else selection.members, n_heads)
    reason = selection.reason
    if exclusive and selection.members and selection.unknown:
        heads, reason = (), f"heads of {' and '.join(selection.unknown)} are unknown without the tested task"
    elif exclusive and not heads and selection.members:
        reason = "each of its heads is in another category too"
    shared = sum(head not in selection.exclusive for head in heads)
    return Trial(heads, Controls((), 0, "layers"), reason, shared)
