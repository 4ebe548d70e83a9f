"""One linear probe: its scores on held-out answers, and how well they tell wrong answers from right ones."""

import copy
import functools
import math
import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Float32, Shaped
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from headcats.papers.token_probe.settings import KEEP, TokenProbeSettings


def probe_scores(
    features: Float32[np.ndarray, "prompt width"],
    wrong: Bool[np.ndarray, " prompt"],
    test: Bool[np.ndarray, " prompt"],
    settings: TokenProbeSettings,
) -> tuple[Float[np.ndarray, " held_out"] | None, bool]:
    """Scores of the held-out prompts by a logistic regression fitted to the others, and whether it converged.

    Higher = the answer is wrong: log-odds of features standardised by the training prompts, or the probability of raw
    ones. None where the solver did not converge, and such probes are left out.

    lbfgs is scikit-learn's fastest solver for hundreds of features or more (1600 prompts of 344 features on one core:
    lbfgs 22 ms, newton-cg 23, newton-cholesky 56, liblinear 102; of 3072 features: lbfgs 0.5 s, newton-cholesky 8.5,
    liblinear 2.7). It stops at scikit-learn's tolerance: on activations of a small model that adds numbers, AUCs are
    within .0002 of those of Newton's method at a hundredth of it. Raw features stay in single precision, as the
    authors' do, which decides where an unfinished fit stops. The raw probe is fitted to right answers, also like
    theirs: a fit that stops unfinished is not the mirror image of that of the other class.
    """
    raw = settings.features == "raw"
    regression = LogisticRegression(C=settings.penalty_strength, solver="lbfgs", max_iter=settings.max_iter)
    probe = make_pipeline(regression) if raw else make_pipeline(StandardScaler(), regression)
    precision = np.float32 if raw else np.float64
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        probe.fit(features[~test].astype(precision), ~wrong[~test] if raw else wrong[~test])
    unfinished = [warning for warning in caught if issubclass(warning.category, ConvergenceWarning)]
    for warning in caught:
        if warning not in unfinished:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    if unfinished and settings.unconverged != KEEP:
        return None, False
    held_out = features[test].astype(precision)
    scores = probe.predict_proba(held_out)[:, 0] if raw else probe.decision_function(held_out)
    return np.asarray(scores, np.float64), not unfinished


class Area(NamedTuple):
    """An area under the ROC curve with its 95 % interval; NaN without a pair of a wrong and a right answer."""

    value: float
    low: float
    high: float


class JudgedPrompts:
    """The held-out prompts, with the same bootstrap draws for every probe that is judged on them.

    The area is the share of (wrong, right) pairs of prompts in which the wrong one has the higher score; ties count one
    half. The interval is the percentile interval over draws of query items with replacement. The probe is not refitted,
    so the interval says how far the number depends on the items it is judged on. Where the score separates the classes
    perfectly, every draw gives 1 and the interval is a point.
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
        # First row: every prompt once, which gives the value itself.
        self._weights = np.concatenate([np.ones((1, len(names))), counts])[:, cluster]

    @property
    def one_class(self) -> tuple[str, ...]:
        """Tasks whose prompts are all wrong or all right, so that no pair lies inside them."""
        return tuple(str(self.tasks[places[0]]) for places in self._by_task() if len(set(self.wrong[places])) == 1)

    def relabelled(self, wrong: Bool[np.ndarray, " prompt"]) -> "JudgedPrompts":
        """Copy with other labels and the same draws."""
        relabelled = copy.copy(self)
        relabelled.wrong = wrong
        return relabelled

    def area(self, scores: Shaped[np.ndarray, " prompt"]) -> Area:
        """Over all pairs of prompts. A higher score is to mean that the answer is wrong."""
        return _interval(*self._pairs(scores, np.arange(len(self.wrong))))

    def area_within(self, scores: Shaped[np.ndarray, " prompt"]) -> Area:
        """Over pairs of prompts of one task: the mean of the tasks' areas, weighted by their pairs."""
        won, pairs = zip(*(self._pairs(scores, places) for places in self._by_task()), strict=True)
        return _interval(functools.reduce(np.add, won), functools.reduce(np.add, pairs))

    def _by_task(self) -> list[Shaped[np.ndarray, " _prompt"]]:
        return [np.flatnonzero(self.tasks == task) for task in sorted(set(self.tasks))]

    def _pairs(
        self, scores: Shaped[np.ndarray, " prompt"], places: Shaped[np.ndarray, " _prompt"]
    ) -> tuple[Float[np.ndarray, " draw"], Float[np.ndarray, " draw"]]:
        """Per draw, how many pairs of these prompts are in the right order, and how many there are."""
        ordered = places[np.argsort(scores[places], kind="stable")]
        values, wrong, weights = scores[ordered], self.wrong[ordered], self._weights[:, ordered]
        right_up_to = np.concatenate([np.zeros((len(weights), 1)), np.cumsum(weights * ~wrong, axis=1)], axis=1)
        lower = right_up_to[:, np.searchsorted(values, values[wrong], side="left")]
        not_higher = right_up_to[:, np.searchsorted(values, values[wrong], side="right")]
        weights = weights[:, wrong]
        return (weights * (lower + not_higher) / 2).sum(1), weights.sum(1) * right_up_to[:, -1]


def _interval(won: Float[np.ndarray, " draw"], pairs: Float[np.ndarray, " draw"]) -> Area:
    if not pairs[0]:
        return Area(math.nan, math.nan, math.nan)
    usable = pairs[1:] > 0
    ratios = won[1:][usable] / pairs[1:][usable]
    low, high = np.percentile(ratios, (2.5, 97.5)) if len(ratios) else (math.nan, math.nan)
    return Area(float(won[0] / pairs[0]), float(low), float(high))
