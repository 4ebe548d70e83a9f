"""Likeness of two sets of heads, or of two orders of heads."""

import numpy as np
import scipy
from jaxtyping import Bool, Float, Shaped


def jaccards(member: Bool[np.ndarray, "*draw category head"]) -> Float[np.ndarray, "*draw category category"]:
    """Intersection over union of every two categories; NaN if both are empty."""
    flat = member.astype(np.float64)
    both = flat @ np.swapaxes(flat, -1, -2)
    sizes = flat.sum(axis=-1)
    either = sizes[..., :, None] + sizes[..., None, :] - both
    return np.divide(both, either, where=either > 0, out=np.full_like(both, np.nan))


def chance_jaccard(first: int, second: int, *, heads: int) -> float:
    """Mean Jaccard index of random sets of these sizes: `E[k / (first + second - k)]`, k hypergeometric."""
    if first + second == 0:
        return float("nan")
    shared = np.arange(max(0, first + second - heads), min(first, second) + 1)
    return float(scipy.stats.hypergeom.pmf(shared, heads, first, second) @ (shared / (first + second - shared)))


def rank_correlation(first: Float[np.ndarray, " head"], second: Float[np.ndarray, " head"]) -> float:
    """Spearman's correlation, tied values sharing their mean rank; NaN below 3 heads or where one is constant."""
    if len(first) < 3 or np.ptp(first) == 0 or np.ptp(second) == 0:
        return float("nan")
    return float(np.corrcoef(scipy.stats.rankdata(first), scipy.stats.rankdata(second))[0, 1])


def pairwise(
    inside: Bool[np.ndarray, "set head"], values: Float[np.ndarray, "set head"]
) -> dict[str, Shaped[np.ndarray, "set set"]]:
    """Several sets of the same heads, each compared with each."""
    finite = np.isfinite(values)
    has_numbers = np.outer(finite.any(axis=1), finite.any(axis=1))
    table = {"jaccard": np.where(has_numbers, jaccards(inside), np.nan)}
    table |= {name: np.full(has_numbers.shape, np.nan) for name in ("expected", "correlation")}
    table |= {name: sets.astype(np.int64) @ sets.T for name, sets in (("both", inside), ("n_heads", finite))}
    for i, j in zip(*np.tril_indices(len(inside)), strict=True):
        pair, numbered = ([i, j], [j, i]), finite[i] & finite[j]
        table["correlation"][pair] = rank_correlation(values[i][numbered], values[j][numbered])
        if has_numbers[i, j]:
            heads = int((finite[i] | finite[j]).sum())
            table["expected"][pair] = chance_jaccard(int(inside[i].sum()), int(inside[j].sum()), heads=heads)
    return table
