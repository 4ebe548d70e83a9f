"""Agreement of methods on the order of the heads of a group."""

import numpy as np
import scipy
import xarray as xr
from jaxtyping import Float, Int

from headcats.base.errors import DataError
from headcats.results.head_axes import head_coords
from headcats.statistics.agreement import rank_correlation

_DIMS = ("method", "group", "layer", "head")


def method_agreement(strength: xr.Dataset) -> xr.Dataset:
    """Rank correlation of the strengths of heads between methods, group by group.

    `rank_correlation` is Spearman's over the heads with a number in both; a head that hurts ranks below one that does
    nothing. Methods that merely favour the same layers agree too: `layer_correlation` is what is left when every head
    has the mean rank of its layer. Heads are no sample and depend on each other, so there is neither an interval nor a
    p. Agreement makes neither method right, and a head low in one is not shown to be unused.

    Args:
        strength: What `hc.evidence.method_scores` returns: `strength (method, group, layer, head)`.

    Returns:
        `rank_correlation, layer_correlation, n_heads (group, method, other)`: NaN where a method has no number in the
        group or is constant there. Coordinates and attributes of `strength`.

    Raises:
        DataError: No strengths, or fewer than two methods.

    Example:
        >>> import headcats as hc
        >>> agreement = hc.evidence.method_agreement(hc.evidence.method_scores(hc.load("results/mini-icl")))
        >>> agreement.rank_correlation.dims
        ('group', 'method', 'other')
        >>> bool((abs(agreement.rank_correlation) <= 1.0001).all())
        True

    References:
        Spearman (1904), Am. J. Psychol. 15, 72-101.
    """
    values, layer_of = _checked(strength)
    methods, groups = (strength[axis].values for axis in ("method", "group"))
    cells = np.array([[[_compared(a, b, layer_of) for b in rows] for a in rows] for rows in values])
    names = ("rank_correlation", "layer_correlation", "n_heads")
    table = xr.Dataset(
        {name: (("group", "method", "other"), cells[..., place]) for place, name in enumerate(names)},
        coords={"group": groups, "method": methods, "other": methods, **head_coords(strength)},
        attrs=strength.attrs,
    )
    along = [name for name in strength.coords if name != "method" and strength[name].dims == ("method",)]
    return table.assign(n_heads=table["n_heads"].astype(int)).assign_coords({name: strength[name] for name in along})


def _checked(strength: xr.Dataset) -> tuple[Float[np.ndarray, "group method place"], Int[np.ndarray, " place"]]:
    """Strengths by layer x head, and the layer of every place."""
    if not isinstance(strength, xr.Dataset) or set(getattr(strength.get("strength"), "dims", ())) != set(_DIMS):
        raise DataError(
            f"hc.evidence.method_agreement takes a Dataset with `strength` over {', '.join(_DIMS)}; got a "
            f"{type(strength).__name__}. Pass hc.evidence.method_scores(results)."
        )
    values = strength["strength"].transpose("group", "method", "layer", "head")
    if values.sizes["method"] < 2:
        raise DataError(
            f"Agreement needs at least two methods; there is {', '.join(map(str, values['method'].values)) or 'none'}. "
            "Run another method on the same model, into the same results."
        )
    layer_of = np.repeat(np.arange(values.sizes["layer"]), values.sizes["head"])
    return values.values.reshape(*values.shape[:2], -1).astype(np.float64), layer_of


def _compared(
    first: Float[np.ndarray, " place"], second: Float[np.ndarray, " place"], layer: Int[np.ndarray, " place"]
) -> tuple[float, float, int]:
    """Rank correlation, its mean over all orders of the heads within each layer, and the heads it is over."""
    both = np.isfinite(first) & np.isfinite(second)
    n, correlation = int(both.sum()), rank_correlation(first[both], second[both])
    if np.isnan(correlation):
        return correlation, correlation, n
    ranks = [scipy.stats.rankdata(values[both]) - (n + 1) / 2 for values in (first, second)]
    of_first, of_second = (np.bincount(layer[both], weights=values) for values in ranks)
    shared = (of_first * of_second / np.maximum(np.bincount(layer[both]), 1)).sum()
    return correlation, float(shared / np.sqrt((ranks[0] ** 2).sum() * (ranks[1] ** 2).sum())), n
