"""Properties of tasks that go together with their labels, and may explain a category besides its name."""

import functools
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

import numpy as np
import scipy
from jaxtyping import Bool, Float, Int

from headcats.base.errors import DataError
from headcats.evidence.relabelling import ALPHA, family_wise_p, mean_over, standardized
from headcats.results.records import TaskRecord
from headcats.statistics.labellings import LEAST_LABELLINGS, Labellings, draw_labellings

_N_STRATA = 3  # of a number, within which labels are exchanged
_ALL_VARIANCE = 1 - 1e-9  # share of a property that is the same within every category
_NOTABLE_PART = 5  # a property may explain some of a category if its share of variance is among the largest fifth
_FEWEST_ALIKE = 39  # labellings beside the true one, of which p can reach .025

_OF_RECORDS: Mapping[str, Callable[[TaskRecord], Any]] = {
    "template": attrgetter("template"),
    "corruption": attrgetter("corruption"),
    "prompt length": attrgetter("prompt_tokens"),
    "answer length": attrgetter("answer_tokens"),
    "accuracy": attrgetter("accuracy"),
}

Value = str | float | Collection[str]
Covariates = Mapping[str, Sequence[Value]]
"""Name of a property -> its value for every task: a name, a number, or several names."""


def covariates_of(records: Mapping[str, TaskRecord]) -> dict[str, dict[str, Value]]:
    """Property -> task -> its value; a DataError for records that lack one."""
    known: dict[str, dict[str, Value]] = {}
    for task, record in records.items():
        # A task and its distractors are told from each other, so both are of one pool.
        values = {name: of(record) for name, of in _OF_RECORDS.items()}
        values["distractor tasks"] = {task, *record.distractors}
        if lacking := [name for name, value in values.items() if value is None]:
            raise DataError(
                f"The results do not say the {lacking[0]} of {task}, which could explain a category: run it again."
            )
        for name, value in values.items():
            known.setdefault(name, {})[task] = value
    return known


def beforehand(records: Mapping[str, TaskRecord]) -> tuple[dict[str, tuple[str, ...]], tuple[str, ...]]:
    """Category -> properties that it cannot be told from, and all that labels go together with, before any effect.

    Nothing where the sources of tasks are unknown, or too few for 20 labellings.
    """
    if not all(record.independent_source for record in records.values()):
        return {}, ()
    categories = list(dict.fromkeys(record.category for record in records.values()))
    labels = np.array([categories.index(record.category) for record in records.values()])
    sources = np.unique([record.independent_source for record in records.values()], return_inverse=True)[1]
    if draw_labellings(labels, sources, n_categories=len(categories), n=0, seed=0).possible < LEAST_LABELLINGS:
        return {}, ()
    covariates = {name: list(of_task.values()) for name, of_task in covariates_of(records).items()}
    options: Any = {"n_categories": len(categories), "n": 200, "seed": 0}  # as `hc.run_evidence`
    stratified = stratified_labellings(labels, sources, None, covariates, **options)
    return {categories[place]: names for place, names in stratified.inseparable.items()}, stratified.coincide


@dataclass(frozen=True)
class StratifiedLabellings:
    """Labellings that verdicts are measured against, and what cannot be told from the categories."""

    labellings: Labellings
    coincide: tuple[str, ...]
    """Properties that go together with labels."""
    inseparable: Mapping[int, tuple[str, ...]]
    """Place of a category -> those that it cannot be told from."""
    alike: Mapping[str, Bool[np.ndarray, " labelling"]] = field(default_factory=dict)
    """Property -> labellings that go with it most: a fifth of those drawn, at least 39, and ties; none if all are."""


def stratified_labellings(
    labels: Int[np.ndarray, " task"],
    sources: Int[np.ndarray, " task"],
    linked: Bool[np.ndarray, "task task"] | None,
    covariates: Covariates,
    *,
    n_categories: int,
    n: int,
    seed: int,
) -> StratifiedLabellings:
    """Labellings of the tasks, within strata of the properties that go together with labels.

    A property goes together with labels if it is the same within every category, or if the share of its variance over
    units (of ranks, or of indicators of names) that lies between categories is larger than all but 5 % of the largest
    such shares of any property under other labels. Labels are then exchanged among tasks with the same names, or within
    a third of the ranks. What still goes together with labels more than they then do by chance cannot be told from
    them; nor can a category whose tasks then exchange no labels be told from any of these properties, nor any category
    where fewer than 20 labellings are left.

    References:
        Hennessy et al. (2016), J. Causal Inference 4, 61-80, for tests among labellings that are as unbalanced in a
        covariate as the true one is.
    """
    draw = functools.partial(draw_labellings, labels, sources, linked, n_categories=n_categories, n=n, seed=seed)
    free = draw()
    known = {name: _features(values) for name, values in covariates.items()}
    shares = _shares(known, free)
    go_together = (shares[0] >= _ALL_VARIANCE) | _beyond_chance(shares)
    coinciding = tuple(name for name, goes in zip(known, go_together.tolist(), strict=True) if goes)
    if not coinciding:
        return StratifiedLabellings(free, (), {}, _alike(known, shares))
    each = np.stack([_strata(known[name]) for name in coinciding], axis=1)
    within = draw(strata=np.unique(each, axis=0, return_inverse=True)[1].ravel())
    if len(within.labels) < LEAST_LABELLINGS:
        return StratifiedLabellings(free, coinciding, dict.fromkeys(np.unique(labels).tolist(), coinciding))
    shares = _shares(known, within)
    still = _beyond_chance(shares[:, go_together])
    left = tuple(name for name, goes_with in zip(coinciding, still.tolist(), strict=True) if goes_with)
    fixed = (within.members == within.members[:1]).all(axis=(0, 1))
    inseparable = {place: coinciding if fixed[place] else left for place in np.unique(labels).tolist()}
    inseparable = {place: names for place, names in inseparable.items() if names}
    return StratifiedLabellings(within, coinciding, inseparable, _alike(known, shares))


def _shares(
    features: Mapping[str, Float[np.ndarray, "task feature"]], labellings: Labellings
) -> Float[np.ndarray, "labelling property"]:
    """Share of the variance of every property over units that lies between categories."""
    tasks_of_units = labellings.tasks_of_units
    each = [_explained(mean_over(values, tasks_of_units), labellings.unit_members) for values in features.values()]
    return np.stack(each, axis=1) if each else np.empty((len(labellings.labels), 0))


def _alike(
    names: Iterable[str], shares: Float[np.ndarray, "labelling property"]
) -> dict[str, Bool[np.ndarray, " labelling"]]:
    """Property -> True for the labellings that go with it most."""
    n = min(len(shares) - 1, max(len(shares) // _NOTABLE_PART, _FEWEST_ALIKE))
    least = -np.sort(-shares[1:], axis=0)[n - 1] if n else np.full(shares.shape[1], np.inf)
    alike = shares >= least - 1e-9
    return {name: rows for name, rows in zip(names, alike.T, strict=True) if rows.any() and not rows.all()}


def _beyond_chance(shares: Float[np.ndarray, "labelling property"]) -> Bool[np.ndarray, " property"]:
    """True where other labels seldom explain as much of any property."""
    if not shares.size or len(shares) < LEAST_LABELLINGS:
        return np.zeros(shares.shape[1], dtype=bool)
    return family_wise_p(standardized(shares))[0] <= ALPHA


def _explained(
    values: Float[np.ndarray, "unit feature"], members: Float[np.ndarray, "labelling unit category"]
) -> Float[np.ndarray, " labelling"]:
    """Share of the variance over units that lies between categories."""
    centred = values - values.mean(axis=0)
    sums = np.einsum("luc,uf->lcf", members, centred, optimize=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        between = np.nan_to_num((sums**2).sum(axis=2) / members.sum(axis=1)).sum(axis=1)
        return between / (centred**2).sum()


def _features(values: Sequence[Value]) -> Float[np.ndarray, "task feature"]:
    """Ranks of numbers, or an indicator of every name."""
    if all(isinstance(value, int | float) for value in values):
        return scipy.stats.rankdata(values)[:, None]
    named = [{value} if isinstance(value, str) else set(value) for value in values]  # type: ignore[arg-type]
    names = sorted(set().union(*named))
    return np.array([[float(name in names_of) for name in names] for names_of in named]).reshape(len(values), -1)


def _strata(features: Float[np.ndarray, "task feature"]) -> Int[np.ndarray, " task"]:
    """Number of the stratum of every task: equal names, or a third of the ranks."""
    if features.shape[1] == 1:
        return np.ceil(_N_STRATA * features[:, 0] / len(features)).astype(int)
    return np.unique(features, axis=0, return_inverse=True)[1].ravel()
