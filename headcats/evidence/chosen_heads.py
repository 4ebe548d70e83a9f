"""Heads of a category that are tested on a task: the largest effects beyond other categories, chosen without it."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int

from headcats.evidence.relabelling import mean_over, minus_other_categories
from headcats.models.head import Head
from headcats.statistics.labellings import Labellings
from headcats.sweeps.tree import HeadSet

TESTED_HEADS = 4
# Of the largest effect. Single precision rounds less; without it, heads without any effect would be ranked by rounding,
# which differs between devices and paths.
LEAST_DIFFERENCE = 1e-6

Effects = Float[np.ndarray, "task head"]
Chosen = tuple[list[HeadSet], Int[np.ndarray, "labelling category"]]
"""Sets of heads that any labelling picks for a task, and which of them each labelling and category picks."""


def specific_effects(
    effects: Effects, members: Float[np.ndarray, "labelling task category"]
) -> Float[np.ndarray, "labelling category head"]:
    """Mean effect on a category's tasks minus the mean over other categories of theirs; NaN without tasks.

    In steps of a millionth of the largest effect.
    """
    return _in_steps(minus_other_categories(_means(effects, members)), effects)


def _means(
    effects: Effects, members: Float[np.ndarray, "labelling task category"]
) -> Float[np.ndarray, "labelling category head"]:
    return mean_over(np.broadcast_to(effects, (len(members), *effects.shape)), members)


def _in_steps(values: Float[np.ndarray, "*any"], effects: Effects) -> Float[np.ndarray, "*any"]:
    step = LEAST_DIFFERENCE * np.abs(effects).max(initial=0.0)
    return np.round(values / step) * step if step else values


def most_specific(
    specific: Float[np.ndarray, "*row head"],
    layers: Int[np.ndarray, " head"],
    *,
    category: Float[np.ndarray, "*row head"],
) -> Int[np.ndarray, "*row place"]:
    """Places of the 4 heads with the largest values, the largest first, at most half of any layer (but one).

    Of ties those with the largest effect on the `category`, then the first; -1 where no head is left.
    """
    ranks = np.lexsort((-category, -specific), axis=-1).argsort(axis=-1)
    left = np.where(np.isnan(specific), -np.inf, -ranks)
    most = {layer: max(1, int((layers == layer).sum()) // 2) for layer in layers.tolist()}
    taken = {layer: np.zeros(left.shape[:-1], dtype=int) for layer in most}
    places = []
    for _ in range(TESTED_HEADS):
        best = left.argmax(axis=-1)
        value = np.take_along_axis(left, best[..., None], axis=-1)[..., 0]
        places.append(np.where(np.isfinite(value), best, -1))
        np.put_along_axis(left, best[..., None], -np.inf, axis=-1)
        for layer in most:
            taken[layer] += layers[best] == layer
            left[(taken[layer] >= most[layer])[..., None] & (layers == layer)] = -np.inf
    return np.stack(places, axis=-1)


def chosen_sets(effects: Effects, labellings: Labellings, heads: Sequence[Head]) -> list[Chosen]:
    """Sets of heads that any labelling picks, task by task, chosen on comparable tasks; empty where there are none."""
    layers = np.array([head.layer for head in heads])
    members = labellings.members
    chosen = []
    for task in range(len(effects)):
        others = labellings.comparable[task]
        data = effects[others], members[:, others]
        of_category = _in_steps(_means(*data), effects[others])
        best = most_specific(specific_effects(*data), layers, category=of_category)
        places = np.sort(best, axis=-1)
        distinct, which = np.unique(places.reshape(-1, places.shape[-1]), axis=0, return_inverse=True)
        sets = [tuple(heads[place] for place in row if place >= 0) for row in distinct.tolist()]
        chosen.append((sets, which.reshape(places.shape[:-1])))
    return chosen


def damage_by_labelling(
    damage: Float[np.ndarray, " set"], sets: Sequence[HeadSet], which: Int[np.ndarray, "labelling category"]
) -> Float[np.ndarray, "labelling category"]:
    """Damage to one task by the set that each labelling picks for each category; NaN for the empty set."""
    return np.where([bool(members) for members in sets], damage, np.nan)[which]
