"""Area under the ROC curve, over all pairs and over pairs of one task, with intervals by resampled query items."""

import functools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Shaped

_OUTSIDE = (2.5, 97.5)


class Area(NamedTuple):
    """An area under the ROC curve with its 95 % interval; NaN where no pair of a wrong and a right answer exists."""

    value: float
    low: float
    high: float


class JudgedPrompts:
    """The held-out prompts: their labels, tasks and bootstrap weights, the same for every probe that is judged on them.

    The area is the share of (wrong, right) pairs of prompts in which the wrong one has the higher score, ties counting
    one half. The interval is the percentile interval over draws of query items with replacement; the probe itself is
    not fitted again, so it says how far the number depends on the items it was judged on. Where the score separates the
    classes perfectly, every draw gives 1 and the interval is a point.

    Attributes:
        wrong: Label of each prompt.
        tasks: Task of each prompt.
        one_class: Tasks without a wrong or without a right answer among these prompts: no pair lies inside them.
    """

    def __init__(
        self,
        wrong: Bool[np.ndarray, " prompt"],
        tasks: Sequence[str],
        items: Sequence[str],
        *,
        resamples: int,
        draws: np.random.Generator,
    ) -> None:
        self.wrong = wrong
        self.tasks = np.array(tasks, dtype=object)
        names, cluster = np.unique(np.array(items, dtype=object).astype(str), return_inverse=True)
        counts = draws.multinomial(len(names), np.full(len(names), 1 / len(names)), size=resamples)
        # First row: every prompt once, which is the value itself.
        self._weights = np.concatenate([np.ones((1, len(names))), counts])[:, cluster]
        self._by_task = [np.flatnonzero(self.tasks == task) for task in sorted(set(tasks))]
        self.one_class = tuple(
            str(self.tasks[places[0]]) for places in self._by_task if len(set(wrong[places].tolist())) == 1
        )

    def relabelled(self, wrong: Bool[np.ndarray, " prompt"]) -> "JudgedPrompts":
        """The same prompts and draws with other labels."""
        copy = object.__new__(JudgedPrompts)
        copy.__dict__.update(self.__dict__, wrong=wrong)
        copy.one_class = tuple(
            str(self.tasks[places[0]]) for places in self._by_task if len(set(wrong[places].tolist())) == 1
        )
        return copy

    def area(self, scores: Shaped[np.ndarray, " prompt"]) -> Area:
        """Over all pairs of prompts; a higher score is to mean that the answer is wrong."""
        return _interval(*self._sums(scores, np.arange(len(self.wrong))))

    def area_within(self, scores: Shaped[np.ndarray, " prompt"]) -> Area:
        """Over pairs of prompts of one task: the mean of the tasks' areas, weighted by their pairs."""
        parts = [self._sums(scores, places) for places in self._by_task]
        won, pairs = (functools.reduce(np.add, column) for column in zip(*parts, strict=True))
        return _interval(won, pairs)

    def _sums(
        self, scores: Shaped[np.ndarray, " prompt"], places: Shaped[np.ndarray, " some"]
    ) -> tuple[Float[np.ndarray, " draw"], Float[np.ndarray, " draw"]]:
        """Per draw, how many pairs of these prompts are in the right order, and how many there are."""
        ordered = places[np.argsort(scores[places], kind="stable")]
        values, wrong, weights = scores[ordered], self.wrong[ordered], self._weights[:, ordered]
        right_up_to = np.concatenate([np.zeros((len(weights), 1)), np.cumsum(weights * ~wrong, axis=1)], axis=1)
        lower = right_up_to[:, np.searchsorted(values, values[wrong], side="left")]
        not_higher = right_up_to[:, np.searchsorted(values, values[wrong], side="right")]
        ours = weights[:, wrong]
        return (ours * (lower + not_higher) / 2).sum(1), ours.sum(1) * right_up_to[:, -1]


def _interval(won: Float[np.ndarray, " draw"], pairs: Float[np.ndarray, " draw"]) -> Area:
    if not pairs[0]:
        return Area(math.nan, math.nan, math.nan)
    usable = pairs[1:] > 0
    ratios = won[1:][usable] / pairs[1:][usable]
    low, high = np.percentile(ratios, _OUTSIDE) if len(ratios) else (math.nan, math.nan)
    return Area(float(won[0] / pairs[0]), float(low), float(high))
