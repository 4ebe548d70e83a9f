"""How alike two sets of heads, or two orders of heads, are."""

import numpy as np
from jaxtyping import Bool, Float
from scipy import stats


def jaccard(first: Bool[np.ndarray, " head"], second: Bool[np.ndarray, " head"]) -> float:
    """Intersection over union, in [0, 1]; NaN where both are empty."""
    either = int((first | second).sum())
    return float((first & second).sum() / either) if either else float("nan")


def chance_jaccard(first: int, second: int, *, heads: int) -> float:
    """Mean Jaccard index of two random sets of `first` and `second` among `heads` heads; NaN where both are empty.

    The intersection of such sets is hypergeometric: `E[k / (first + second - k)]`.
    """
    if first + second == 0:
        return float("nan")
    shared = np.arange(max(0, first + second - heads), min(first, second) + 1)
    return float(stats.hypergeom.pmf(shared, heads, first, second) @ (shared / (first + second - shared)))


def rank_correlation(first: Float[np.ndarray, " head"], second: Float[np.ndarray, " head"]) -> float:
    """Spearman's correlation, tied values sharing their mean rank; NaN below 3 heads or where one is constant."""
    if len(first) < 3 or np.ptp(first) == 0 or np.ptp(second) == 0:
        return float("nan")
    return float(np.corrcoef(stats.rankdata(first), stats.rankdata(second))[0, 1])
