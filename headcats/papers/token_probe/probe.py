"""One linear probe: answers split by query item, scores of those held out, and how well they tell wrong from right."""

import copy
import functools
import math
import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Float32, Shaped
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from headcats.base.errors import DataError
from headcats.papers.token_probe.settings import KEEP, TokenProbeSettings
from headcats.prompts.drop_report import DropReport
from headcats.statistics.random_streams import stream


def probe_scores(
    features: Float32[np.ndarray, "prompt width"],
    wrong: Bool[np.ndarray, " prompt"],
    test: Bool[np.ndarray, " prompt"],
    settings: TokenProbeSettings,
) -> tuple[Float[np.ndarray, " held_out"] | None, bool]:
    """Scores of the held-out prompts by a logistic regression fitted to the others, and whether it converged.

    Higher = the answer is wrong: log-odds of features standardised by the training prompts, or the probability of raw
    ones; None where the solver did not converge, and such probes are left out. Raw features stay in single precision
    and the raw probe is fitted to right answers, as the authors': both decide where an unfinished fit stops.
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

    The area is the share of (wrong, right) pairs in which the wrong one has the higher score, ties one half. Its
    interval is the percentile interval over draws of query items; the probe is not refitted.
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


def check_classes(wrong: Bool[np.ndarray, " prompt"], settings: TokenProbeSettings, report: DropReport) -> None:
    """Refuse answers with too few right or wrong ones among them."""
    n, n_wrong = len(wrong), int(wrong.sum())
    if min(n_wrong, n - n_wrong) >= settings.min_class:
        return
    dropped = f" ({report.summary()})" if report.dropped else ""
    raise DataError(
        f"There is nothing to predict: {n_wrong} of {n} answers are wrong{dropped}, and a probe of errors needs at "
        f"least {settings.min_class} right and {settings.min_class} wrong ones. Ask more questions, or "
        f"{'harder' if n_wrong < n - n_wrong else 'easier'} ones."
    )


def held_out(
    items: Sequence[str], tasks: Sequence[str], wrong: Bool[np.ndarray, " prompt"], *, share: float, seed: int
) -> Bool[np.ndarray, " prompt"]:
    """True for a random `share` of the items, drawn evenly from those with and without a wrong answer, by task."""
    answers = (
        pd.DataFrame({"item": items, "wrong": wrong, "task": tasks})
        .groupby("item")
        .agg({"wrong": "any", "task": "first"})
    )
    names, strata = answers.index.tolist(), list(answers.itertuples(index=False, name=None))
    draws = stream(seed, "token_probe", "split")
    order = sorted(draws.permutation(len(names)).tolist(), key=strata.__getitem__)
    offset = draws.random()
    test_items = {
        names[place]
        for rank, place in enumerate(order)
        if math.floor((rank + 1) * share + offset) > math.floor(rank * share + offset)
    }
    return np.array([item in test_items for item in items], dtype=bool)
