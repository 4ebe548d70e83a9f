"""Which answers a probe is fitted to, which it is judged on, and shuffled labels as a control."""

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
from jaxtyping import Bool, Shaped

from headcats.statistics.random_streams import stream

_STREAM = "token_probe"


def held_out(
    items: Sequence[str], tasks: Sequence[str], wrong: Bool[np.ndarray, " prompt"], *, share: float, seed: int
) -> Bool[np.ndarray, " prompt"]:
    """True for the prompts of a random `share` of the query items; an item is never on both sides.

    Items are drawn evenly (every fifth of a random order) from those with and those without a wrong answer, task by
    task, so that both sides have the same classes and tasks as nearly as numbers allow.
    """
    answers = (
        pd.DataFrame({"item": items, "wrong": wrong, "task": tasks})
        .groupby("item")
        .agg({"wrong": "any", "task": "first"})
    )
    names, strata = answers.index.tolist(), list(answers.itertuples(index=False, name=None))
    draws = stream(seed, _STREAM, "split")
    order = sorted(draws.permutation(len(names)).tolist(), key=strata.__getitem__)
    offset = draws.random()
    test_items = {
        names[place]
        for rank, place in enumerate(order)
        if math.floor((rank + 1) * share + offset) > math.floor(rank * share + offset)
    }
    return np.array([item in test_items for item in items], dtype=bool)


def shuffled_labels(
    wrong: Bool[np.ndarray, " prompt"], tasks: Sequence[str], test: Bool[np.ndarray, " prompt"], *, seed: int
) -> Bool[np.ndarray, " prompt"]:
    """The labels in a random order within each task and side of the split.

    Every task keeps its share of wrong answers on both sides, so what the task gives away stays and what the answer
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
    """Score of a probe that knows the task alone: the share of wrong answers among the task's training prompts."""
    rates = pd.Series(wrong[~test]).groupby(np.array(tasks, dtype=object)[~test]).mean()
    return pd.Series(tasks, dtype=object).map(rates).fillna(wrong[~test].mean()).to_numpy(dtype=float)
