"""Whether the effects of a head differ between two runs on the same items."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from headcats.statistics.multiplicity import smallest_p
from headcats.statistics.pooled_null import pooled_null, rank_p, standard_errors
from headcats.statistics.task import Estimate, doubtful, skewness_of


class Difference(NamedTuple):
    """Effects of the second run minus those of the first; NaN for heads without a number in one of them."""

    difference: Float[np.ndarray, " head"]
    low: Float[np.ndarray, " head"]
    high: Float[np.ndarray, " head"]
    p_value: Float[np.ndarray, " head"]
    doubtful: Bool[np.ndarray, " head"]


def paired_differences(pairs: Mapping[str, Sequence[tuple[Estimate, Estimate]]], *, seed: int) -> dict[str, Difference]:
    """Differences of mean effects over fixed tasks, with 95 % intervals and two-sided p: a studentized bootstrap.

    `difference = mean over tasks of (effect in the second run - effect in the first)`, each a share of its own run's
    gap. Items are paired: noise that both runs share cancels. Draws are pooled over heads and comparisons, as those of
    effects are (docs/tests_of_heads.md). A comparison with a task of a single item has p 1.
    """
    scatter = {name: _scatter(of_tasks) for name, of_tasks in pairs.items()}
    null = pooled_null(scatter, seed=seed)
    differences = {
        name: np.mean([second.effect - first.effect for first, second in of_tasks], axis=0)
        for name, of_tasks in pairs.items()
    }
    not_trusted = doubtful(
        np.stack(list(differences.values())),
        np.stack([skewness_of(values) for values in scatter.values()]),
        list(scatter.values()),
    )
    tested = {}
    for (name, difference), doubts in zip(differences.items(), not_trusted, strict=True):
        error, draws = standard_errors(scatter[name]), null.statistic[name]
        statistic = difference / (error + null.floor)
        # The ranks of the draws are the same from both ends.
        tails = (
            rank_p(statistic, draws, null.rank, null.draws),
            rank_p(-statistic, -draws[::-1], null.rank, null.draws),
        )
        p_value = np.clip(2 * np.minimum(*tails), smallest_p(len(scatter[name]), draws=null.draws), 1.0)
        p_value = np.where(np.isnan(statistic) & ~np.isnan(difference), 1.0, p_value)
        tested[name] = Difference(difference, *null.interval(name, difference, error), p_value, doubts)
    return tested


def _scatter(pairs: Sequence[tuple[Estimate, Estimate]]) -> Float[np.ndarray, "item head"]:
    """Share of each item of any of the tasks in the deviation of the mean difference."""
    items = np.unique(np.concatenate([second.items for _, second in pairs]))
    scatter = np.zeros((len(items), len(pairs[0][1].effect)))
    for first, second in pairs:
        n, own = len(items), len(second.items)
        # The standard error takes the items for one sample, and would shrink those of a task that has few of them.
        with np.errstate(divide="ignore", invalid="ignore"):
            weight = np.sqrt(np.divide(own * (n - 1), (own - 1) * n)) / len(pairs)
            scatter[np.searchsorted(items, second.items)] += weight * (second.scatter - first.scatter)
    return scatter
