"""What may explain a category besides its name: properties of tasks that go together with their labels."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from jaxtyping import Bool, Float, Int

from headcats.evidence.relabelling import (
    ALPHA,
    LEAST_LABELLINGS,
    Labellings,
    draw_labellings,
    family_wise_p,
    mean_over,
    standardized,
)

_RANGES = 3  # of a number, within which labels are exchanged

Value = str | float | Collection[str] | None
Covariates = Mapping[str, Sequence[Value]]
"""Name of a property -> its value for every task: a name, a number, several names, or None where it is not known."""


@dataclass(frozen=True)
class Told:
    """Labellings that verdicts are measured against, and what cannot be told from the categories."""

    labellings: Labellings
    coincide: Mapping[str, tuple[int, ...]]
    """Property -> places of the categories that go together with it."""
    inseparable: Mapping[int, tuple[str, ...]]
    """Place of a category -> properties that it cannot be told from."""


def told_apart(
    labels: Int[np.ndarray, " task"],
    sources: Int[np.ndarray, " task"],
    linked: Bool[np.ndarray, "task task"] | None,
    covariates: Covariates,
    *,
    n_categories: int,
    n: int,
    seed: int,
) -> Told:
    """Labellings of the tasks, within strata of the properties that go together with labels.

    A property goes together with a category if the share of its variance (of ranks, or of indicators of names) that the
    category explains over units is larger than all but 5 % of the largest such shares under other labels: family-wise
    over properties and categories. Labels are then exchanged among tasks with the same names, or within a third of the
    range of ranks. A category that still goes together with the property, or whose tasks exchange no labels, cannot be
    told from it; neither can any such category where fewer than 20 labellings are left, and those of all tasks stand.
    """
    sizes = {"n_categories": n_categories, "n": n, "seed": seed}
    free = draw_labellings(labels, sources, linked, **sizes)
    known = {
        name: (values, _features(values)) for name, values in covariates.items() if not any(v is None for v in values)
    }
    found = _going_together({name: features for name, (_, features) in known.items()}, free)
    coincide = {name: tuple(np.flatnonzero(row).tolist()) for name, row in found.items() if row.any()}
    if not coincide:
        return Told(free, {}, {})
    strata = np.unique(
        np.stack([_strata(known[name][0]) for name in coincide], axis=1), axis=0, return_inverse=True
    )[1].ravel()
    within = draw_labellings(labels, sources, linked, strata=strata, **sizes)
    separable = len(within.labels) >= LEAST_LABELLINGS
    left = _going_together({name: known[name][1] for name in coincide}, within) if separable else found
    fixed = (within.members == within.members[:1]).all(axis=(0, 1))
    inseparable = {
        place: tuple(
            name
            for name, places in coincide.items()
            if place in places and (not separable or left[name][place] or fixed[place])
        )
        for place in range(n_categories)
    }
    return Told(
        within if separable else free, coincide, {place: names for place, names in inseparable.items() if names}
    )


def _going_together(
    features: Mapping[str, Float[np.ndarray, "task feature"]], labellings: Labellings
) -> dict[str, Bool[np.ndarray, " category"]]:
    """Property -> which categories go together with it."""
    if not features or len(labellings.labels) < LEAST_LABELLINGS:
        return {name: np.zeros(labellings.n_categories, dtype=bool) for name in features}
    tasks_of_units = labellings.tasks_of_units
    shares = [_explained(mean_over(values, tasks_of_units), labellings.unit_members) for values in features.values()]
    p = family_wise_p(standardized(np.concatenate(shares, axis=1)))[0] <= ALPHA
    return dict(zip(features, p.reshape(len(features), -1), strict=True))


def _explained(
    values: Float[np.ndarray, "unit feature"], members: Float[np.ndarray, "labelling unit category"]
) -> Float[np.ndarray, "labelling category"]:
    """Share of the variance over units that lies between a category and the others."""
    centred = values - values.mean(axis=0)
    total, n = (centred**2).sum(), len(values)
    size = members.sum(axis=1)
    sums = np.einsum("luc,uf->lcf", members, centred, optimize=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        return (sums**2).sum(axis=2) * n / (size * (n - size) * total)


def _features(values: Sequence[Value]) -> Float[np.ndarray, "task feature"]:
    """Ranks of numbers, or an indicator of every name."""
    if all(isinstance(value, int | float) for value in values):
        return scipy.stats.rankdata(values)[:, None]
    named = [{value} if isinstance(value, str) else set(value) for value in values]  # type: ignore[arg-type]
    names = sorted(set().union(*named))
    return np.array([[float(name in names_of) for name in names] for names_of in named]).reshape(len(values), -1)


def _strata(values: Sequence[Value]) -> Int[np.ndarray, " task"]:
    """Number of the stratum of every task: equal names, or a third of the ranks."""
    features = _features(values)
    if all(isinstance(value, int | float) for value in values):
        return np.ceil(_RANGES * features[:, 0] / len(values)).astype(int)
    return np.unique(features, axis=0, return_inverse=True)[1].ravel()
