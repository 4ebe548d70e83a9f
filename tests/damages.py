"""Damages that were never measured: every set of heads costs what a test says it costs."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from headcats.evidence.controls import Controls, HeadSet
from headcats.evidence.damage import TaskDamage
from headcats.evidence.trials import Trial
from headcats.models import Head


def heads(*names: str) -> HeadSet:
    """Heads by name."""
    return tuple(map(Head.parse, names))


def trial(
    tested: Sequence[str],
    controls: Iterable[Sequence[str]] = (),
    relabelled: Iterable[Sequence[str]] = (),
    *,
    why: str = "",
    shared: int = 0,
) -> Trial:
    """A trial with these control sets and relabellings."""
    sets, images = (tuple(heads(*one) for one in given) for given in (controls, relabelled))
    return Trial(heads(*tested), Controls(sets, len(sets), "layers"), why, shared, images)


def damage(
    task: str,
    category: str,
    cost: Callable[[HeadSet], float],
    sets: Iterable[HeadSet],
    *,
    shown: Sequence[str] = ("other",),
    n: int = 12,
) -> TaskDamage:
    """Every prompt of the task loses `cost(heads)` of a gap of 2 nats."""
    ordered = sorted(set(sets))
    drop = np.tile([2.0 * cost(one) for one in ordered], (n, 1)).reshape(n, len(ordered))
    items = tuple(f"item {place}" for place in range(n))
    named = tuple(shown[place % len(shown)] for place in range(n))
    return TaskDamage(task, category, drop, np.full(n, 2.0), items, named, {one: at for at, one in enumerate(ordered)})
