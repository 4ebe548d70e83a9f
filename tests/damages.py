"""Damages that were never measured: every set of heads costs what a test says it costs."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from headcats.evidence.controls import Controls, HeadSet
from headcats.evidence.damage import TaskDamage
from headcats.evidence.trials import Trial
from headcats.models.head import Head


def heads(*names: str) -> HeadSet:
    """Heads by name."""
    return tuple(map(Head.parse, names))


def trial(
    tested: Sequence[str],
    controls: Iterable[Sequence[str]] = (),
    relabelled: Iterable[Sequence[str]] = (),
    *,
    reason: str = "",
    shared: int = 0,
) -> Trial:
    """A trial with these control sets and relabellings."""
    sets, images = (tuple(heads(*names) for names in rows) for rows in (controls, relabelled))
    return Trial(heads(*tested), Controls(sets, len(sets), "layers"), reason, shared, images)


def damage(
    task: str,
    category: str,
    cost: Callable[[HeadSet], float],
    sets: Iterable[HeadSet],
    *,
    distractors: Sequence[str] = ("other",),
    n: int = 12,
) -> TaskDamage:
    """Every prompt of the task loses `cost(heads)` of a gap of 2 nats."""
    ordered = sorted(set(sets))
    drop = np.tile([2.0 * cost(head_set) for head_set in ordered], (n, 1)).reshape(n, len(ordered))
    items = tuple(f"item {place}" for place in range(n))
    distractor_tasks = tuple(distractors[place % len(distractors)] for place in range(n))
    columns = {head_set: place for place, head_set in enumerate(ordered)}
    return TaskDamage(task, category, drop, np.full(n, 2.0), items, distractor_tasks, columns)
