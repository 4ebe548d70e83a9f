"""Which answers a probe learns from, which it is judged on, and labels that say nothing."""

import math
from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Shaped

from headcats.statistics.random_streams import stream

_STREAM = "token_probe"


def held_out(
    items: Sequence[str], tasks: Sequence[str], wrong: Bool[np.ndarray, " prompt"], *, share: float, seed: int
) -> Bool[np.ndarray, " prompt"]:
    """True for the prompts of a random `share` of the query items; an item is never on both sides.

    Items are drawn evenly (every fifth of a random order) from those with and those without a wrong answer, task by
    task, so that both sides have the same classes and tasks as nearly as numbers allow.

    Args:
        items: Query item of each prompt.
        tasks: Its task.
        wrong: Whether it was answered wrongly.
        share: Share of the items, in (0, 1).
        seed: Seed of the study.
    """
    kinds: dict[str, tuple[bool, str]] = {}
    for item, task, failed in zip(items, tasks, wrong.tolist(), strict=True):
        before = kinds.get(item, (False, task))
        kinds[item] = (before[0] or failed, before[1])
    names = sorted(kinds)
    draws = stream(seed, _STREAM, "split")
    order = sorted(draws.permutation(len(names)).tolist(), key=lambda place: kinds[names[place]])
    offset = draws.random()
    items_held_out = {
        names[place]
        for rank, place in enumerate(order)
        if math.floor((rank + 1) * share + offset) > math.floor(rank * share + offset)
    }
    return np.array([item in items_held_out for item in items], dtype=bool)


def shuffled_labels(
    wrong: Bool[np.ndarray, " prompt"], tasks: Sequence[str], test: Bool[np.ndarray, " prompt"], *, seed: int
) -> Bool[np.ndarray, " prompt"]:
    """The labels in a random order within each task and side of the split.

    Every task keeps its share of wrong answers on both sides, so what a task as such gives away stays; what an answer
    gives away is gone.
    """
    shuffled = wrong.copy()
    for task in sorted(set(tasks)):
        for side, name in ((test, "test"), (~test, "train")):
            places = np.flatnonzero(side & (np.array(tasks, dtype=object) == task))
            shuffled[places] = wrong[stream(seed, _STREAM, "shuffled", task, name).permutation(places)]
    return shuffled


def task_error_rates(
    wrong: Bool[np.ndarray, " prompt"], tasks: Sequence[str], test: Bool[np.ndarray, " prompt"]
) -> Shaped[np.ndarray, " prompt"]:
    """What a probe would say that knows the task alone: the share of wrong answers of the task's training prompts."""
    names = np.array(tasks, dtype=object)
    overall = float(wrong[~test].mean())
    rates = np.full(len(names), overall)
    for task in set(tasks):
        learned = (names == task) & ~test
        if learned.any():
            rates[names == task] = float(wrong[learned].mean())
    return rates
