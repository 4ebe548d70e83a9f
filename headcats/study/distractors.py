"""Which tasks may corrupt which: those that the model can do.

A corrupted prompt shows another task, and its distractor is that task's answer. Of a task that the model cannot do it
would neither give that answer nor be led away by the demonstrations: the gap would be that of prompts without any task.
So tasks that are skipped corrupt no others. What they would have corrupted is written anew with the remaining ones, or
with shuffled labels where none remains, and judged again, until nothing changes. A task without a clear gap may have
one once its prompts show tasks that the model can do; so it is taken out only when nothing else changes any more.

What is decided for a task depends on the tasks that it is linked to by shared inputs, scored or not. So it is the same
whichever tasks a run is asked for.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from headcats.results.records import TaskRecord
from headcats.study.preparation import Preparation


def settle_distractors(
    preparation: Preparation, tasks: Sequence[str], *, assess: Callable[[Sequence[str]], Mapping[str, TaskRecord]]
) -> dict[str, TaskRecord]:
    """Have the prompts of `tasks`, and of all tasks linked to them, corrupted only by tasks that are not skipped.

    Sets the `distractors` of `preparation`, and leaves those that it knows. `assess` gives the entries of some tasks,
    from the prompts there are now. A task marked as solvable without demonstrations is skipped and corrupts others all
    the same: that is what it is for. Returns task -> its last entry; tasks whose prompts no other corrupts are not
    assessed.
    """
    candidates, known = preparation.candidates, frozenset(preparation.distractors)
    linked = _linked(candidates, [task for task in tasks if task not in known])
    records: dict[str, TaskRecord] = {}
    out: set[str] = set()
    to_assess = linked
    while True:
        records |= assess(to_assess) if to_assess else {}
        skipped = {task: record.refused_by for task, record in records.items() if record.refusal and task not in out}
        no_gap = {task for task, reason in skipped.items() if reason == "gap"}
        cannot = {task for task, reason in skipped.items() if reason not in ("gap", "demonstrations")}
        if not cannot | no_gap:
            break
        out |= cannot or no_gap
        to_assess = []
        for task in linked:
            remaining = tuple(name for name in candidates[task] if name not in out)
            if task not in out | known and remaining != preparation.distractors.get(task, candidates[task]):
                to_assess.append(task)
                preparation.set_distractors(task, remaining)
    for task in linked:
        preparation.distractors.setdefault(task, candidates[task])
    return records


def _linked(candidates: Mapping[str, Sequence[str]], tasks: Iterable[str]) -> list[str]:
    """These tasks and all that are linked to them, in a fixed order; without those that no other could corrupt."""
    linked, to_visit = set[str](), [task for task in tasks if candidates.get(task)]
    while to_visit:
        task = to_visit.pop()
        if task not in linked:
            linked.add(task)
            to_visit += candidates[task]
    return sorted(linked)
