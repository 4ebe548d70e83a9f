"""How often a probe is right, and how sure that is where answers come in clusters."""

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Shaped

from headcats.statistics.distributions import t_quantile

CONFIDENCE = 0.95
_DRAWS = 9_999
_TOGETHER = 2**22
"""Signs drawn at a time."""


class Accuracy(NamedTuple):
    """A share of right answers with its 95 % interval; NaN where nothing is known."""

    share: float
    low: float
    high: float


UNKNOWN = Accuracy(math.nan, math.nan, math.nan)


def clustered_accuracy(right: Bool[np.ndarray, " text"], cluster: Shaped[np.ndarray, " text"]) -> Accuracy:
    """Share of right answers, with a Wilson interval for texts that come in clusters (items, or tasks).

    Wilson's n is `p (1 - p) / var(p)`, var(p) between clusters, and its quantile that of t with one degree of freedom
    less than clusters. Where all answers are alike, each cluster counts as one text. A single cluster has no interval.

    References:
        Wilson (1927), J. Am. Stat. Assoc. 22, 209-212; Korn & Graubard (1998), Survey Methodology 24, 193-201.
    """
    n = len(right)
    if not n:
        return UNKNOWN
    share = float(right.mean())
    _, members = np.unique(cluster, return_inverse=True)
    clusters = int(members.max()) + 1
    if clusters < 2:
        return Accuracy(share, math.nan, math.nan)
    residuals = np.bincount(members, weights=right - share)
    variance = clusters / (clusters - 1) * float((residuals**2).sum()) / n**2
    spread = share * (1 - share)
    independent = float(clusters) if spread == 0 else min(n, spread / variance) if variance > 0 else float(n)
    z = float(t_quantile((1 - CONFIDENCE) / 2, clusters - 1))
    centre = (share + z**2 / (2 * independent)) / (1 + z**2 / independent)
    half = z * math.sqrt(spread / independent + z**2 / (4 * independent**2)) / (1 + z**2 / independent)
    return Accuracy(share, max(0.0, centre - half), min(1.0, centre + half))


def largest_share(classes: Shaped[np.ndarray, " text"]) -> float:
    """Accuracy of the best constant guess: the share of the most frequent class. NaN without texts."""
    return float(np.unique(classes, return_counts=True)[1].max() / len(classes)) if len(classes) else math.nan


def accuracy_difference_p(
    first: Bool[np.ndarray, " text"],
    second: Bool[np.ndarray, " text"],
    cluster: Shaped[np.ndarray, " text"],
    *,
    rng: np.random.Generator,
) -> float:
    """Two-sided p that two classifiers of the same texts are right equally often: sign flips of clusters.

    `p = (1 + draws with at least as large a difference) / (1 + draws)` over random signs of the clusters' differences;
    1 where both are right for the same texts, NaN without texts.

    References:
        Edgington & Onghena (2007), Randomization Tests, 4th ed.
    """
    if not len(first):
        return math.nan
    _, members = np.unique(cluster, return_inverse=True)
    sums = np.bincount(members, weights=first.astype(float) - second)
    sums = sums[sums != 0]
    observed, extreme, left = abs(sums.sum()), 0, _DRAWS
    while left:
        draws = min(left, max(1, _TOGETHER // max(1, len(sums))))
        signs = rng.integers(0, 2, size=(draws, len(sums)), dtype=np.int8) * 2 - 1
        extreme += int((abs(signs @ sums) >= observed).sum())
        left -= draws
    return (1 + extreme) / (1 + _DRAWS)
