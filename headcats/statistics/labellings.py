"""Labels of tasks, and others that are as likely if labels mean nothing."""

import numpy as np
from jaxtyping import Int

from headcats.statistics.random_streams import stream

_TRIES = 20
"""Draws per labelling that is asked for: enough to find nearly all where there are few."""


def draw_labellings(
    labels: Int[np.ndarray, " task"], sources: Int[np.ndarray, " task"], *, n: int, seed: int
) -> Int[np.ndarray, "labelling task"]:
    """The labels of some tasks, then up to `n` others; no two rows divide the tasks alike.

    A source whose tasks have one label exchanges it as a whole with others of this kind; tasks of a source with several
    labels exchange theirs among themselves.
    """
    groups = [np.flatnonzero(sources == source) for source in np.unique(sources)]
    pure = [group for group in groups if len(np.unique(labels[group])) == 1]
    mixed = [group for group in groups if len(np.unique(labels[group])) > 1]
    of_pure = labels[[group[0] for group in pure]]
    draws = stream(seed, *map(str, labels.tolist()), "labels of tasks")
    drawn = {_division(labels): labels}
    for _ in range(_TRIES * n):
        new = labels.copy()
        for group, label in zip(pure, draws.permutation(of_pure), strict=True):
            new[group] = label
        for group in mixed:
            new[group] = draws.permutation(labels[group])
        drawn.setdefault(_division(new), new)
        if len(drawn) > n:
            break
    return np.stack(list(drawn.values()))


def _division(labels: Int[np.ndarray, " task"]) -> tuple[int, ...]:
    """Division of the tasks, the same for labels that differ by the names of categories alone."""
    places = {label: place for place, label in enumerate(dict.fromkeys(labels.tolist()))}
    return tuple(places[label] for label in labels.tolist())
