"""Damages that were never measured: every set of heads costs what a test says it costs."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial

import numpy as np

from headcats.evidence.controls import Controls, HeadSet
from headcats.evidence.damage import TaskDamage
from headcats.evidence.specificity import specificity
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
    return Trial(heads(*tested), Controls(sets), reason, shared, images)


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


def category_a(
    *,
    own: float = 0.6,
    elsewhere: float = 0.1,
    relabelled: int = 19,
    as_specific: int = 0,
    controls: int = 19,
    reaching: int = 0,
    noise: float = 0.0,
    matched: str = "layers",
    keeping: int = 0,
):
    """A category whose heads cost its own task `own` and others `elsewhere`; `reaching` controls and `as_specific`
    relabellings are as specific, and the first `keeping` of these keep its head."""
    disjoint = [heads(f"L1H{number}") for number in range(controls)]
    images = [heads(*["L0H0"][: number < keeping], f"L2H{number}") for number in range(relabelled)]
    tested = trial(["L0H0"], [map(str, members) for members in disjoint], [map(str, members) for members in images])
    object.__setattr__(tested.controls, "matched", matched)
    none = trial((), reason="the rule calls no head of it (3 undecided)")
    good = {*disjoint[:reaching], *images[:as_specific]}

    def cost(task, members):
        if members == heads("L0H0"):
            return own if task == "a" else elsewhere
        return 1.0 if members in good and task == "a" else 0.0

    measured = {
        task: damage(task, task.upper(), partial(cost, task), [heads("L0H0"), *disjoint, *images])
        for task in ("a", "b")
    }
    measured["a"].drop[:] += noise * np.random.default_rng(0).standard_normal((len(measured["a"].drop), 1))
    designed = {task: {"A": tested, "B": none} for task in measured}
    return specificity(designed, measured, categories=("A", "B"), seed=0)
