"""How alike two sets of heads, or two orders of heads, are."""

import numpy as np
from jaxtyping import Bool, Float, Shaped
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


def pairwise(
    inside: Bool[np.ndarray, "set head"], values: Float[np.ndarray, "set head"]
) -> dict[str, Shaped[np.ndarray, "set set"]]:
    """Several sets of the same heads, each compared with each.

    Args:
        inside: Heads of each set.
        values: What each set was chosen by; NaN where a head has no number.

    Returns:
        `jaccard` and `expected`, its mean by chance over the heads with a number in one of both (NaN where one has no
        number at all); `correlation` of ranks over the `n_heads` with a number in both; `both`: heads in both sets.
    """
    n, finite = len(inside), np.isfinite(values)
    table = {name: np.full((n, n), np.nan) for name in ("jaccard", "expected", "correlation")}
    table |= {name: np.zeros((n, n), dtype=np.int64) for name in ("both", "n_heads")}
    for i, j in zip(*np.tril_indices(n), strict=True):
        pair, numbered = ([i, j], [j, i]), finite[i] & finite[j]
        table["both"][pair] = (inside[i] & inside[j]).sum()
        table["n_heads"][pair] = numbered.sum()
        table["correlation"][pair] = rank_correlation(values[i][numbered], values[j][numbered])
        if finite[i].any() and finite[j].any():
            heads = int((finite[i] | finite[j]).sum())
            table["jaccard"][pair] = jaccard(inside[i], inside[j])
            table["expected"][pair] = chance_jaccard(int(inside[i].sum()), int(inside[j].sum()), heads=heads)
    return table
