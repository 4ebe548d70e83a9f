"""How far methods agree on the heads of a group: by the order of all heads, and by the heads on top."""

import itertools

import numpy as np
import scipy
import xarray as xr
from jaxtyping import Bool, Float, Int

from headcats.base.errors import DataError
from headcats.results.finding import Finding, line
from headcats.results.head_axes import head_coords
from headcats.statistics.agreement import pairwise

LEAST_TOP = 4
_DIMS = ("method", "group", "layer", "head")


def method_agreement(strength: xr.Dataset) -> xr.Dataset:
    """Rank correlation and overlap of the strongest heads between methods, group by group.

    `rank_correlation` is Spearman's over the heads with a number in both; a head that hurts ranks below one that does
    nothing. Methods that merely favour the same layers agree too: `layer_correlation` is what is left when every head
    has the mean rank of its layer. The top set of a method are its largest strengths above 0, as many as a tenth of the
    heads (at least 4), with ties. `top_overlap = |A and B| / |A or B|`; `top_chance` is its mean over random sets of
    the same sizes (hypergeometric), whatever their layer. Heads are no sample and depend on each other, so there is
    neither an interval nor a p.

    Args:
        strength: What `hc.evidence.method_scores` returns: `strength (method, group, layer, head)`.

    Returns:
        `rank_correlation, layer_correlation, top_overlap, top_chance, n_heads (group, method, other)`: NaN where a
        method has no number in the group or is constant there. Coordinates and attributes of `strength`, with `top` and
        `reading` (sentences, one a line).

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
    values, layer_of, top = _checked(strength)
    methods, groups = (strength[axis].values for axis in ("method", "group"))
    in_top = np.array([[_top(strengths, top) for strengths in of_group] for of_group in values])
    by_group = [pairwise(*of_group) for of_group in zip(in_top, values, strict=True)]
    names = {"rank_correlation": "correlation", "top_overlap": "jaccard", "top_chance": "expected"}
    names |= {"n_heads": "n_heads"}
    table = xr.Dataset(
        {
            name: (("group", "method", "other"), np.stack([compared[key] for compared in by_group]))
            for name, key in names.items()
        },
        coords={"group": groups, "method": methods, "other": methods, **head_coords(strength)},
    )
    layers = np.array([[[_of_layers(a, b, layer_of) for a in rows] for b in rows] for rows in values])
    table["layer_correlation"] = table["rank_correlation"].copy(data=layers).where(table["rank_correlation"].notnull())
    along = [name for name in strength.coords if name != "method" and strength[name].dims == ("method",)]
    table = table.assign_coords({name: strength[name] for name in along})
    table.attrs = {**strength.attrs, "top": top}
    return table.assign_attrs(reading="\n".join(map(str, _findings(table))))


def _checked(strength: xr.Dataset) -> tuple[Float[np.ndarray, "group method place"], Int[np.ndarray, " place"], int]:
    """Strengths by layer x head, the layer of every place, and the size of the top sets."""
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
    top = min(max(LEAST_TOP, len(layer_of) // 10), len(layer_of))
    return values.values.reshape(*values.shape[:2], -1).astype(np.float64), layer_of, top


def _top(strengths: Float[np.ndarray, " place"], top: int) -> Bool[np.ndarray, " place"]:
    helping = strengths[strengths > 0]
    if not len(helping):
        return np.zeros(len(strengths), dtype=bool)
    return strengths >= np.sort(helping)[-min(top, len(helping))]


def _of_layers(
    first: Float[np.ndarray, " place"], second: Float[np.ndarray, " place"], layer: Int[np.ndarray, " place"]
) -> float:
    """Mean rank correlation over all orders of the heads within each layer."""
    both = np.isfinite(first) & np.isfinite(second)
    ranks = [scipy.stats.rankdata(values[both]) - (both.sum() + 1) / 2 for values in (first, second)]
    of_first, of_second = (np.bincount(layer[both], weights=values) for values in ranks)
    size = np.sqrt((ranks[0] ** 2).sum() * (ranks[1] ** 2).sum())
    shared = (of_first * of_second / np.maximum(np.bincount(layer[both]), 1)).sum()
    return float(shared / size) if size else float("nan")


def _findings(table: xr.Dataset) -> list[Finding]:
    """Findings on agreement; none says more than its numbers."""
    methods, groups = ([str(name) for name in table[axis].values] for axis in ("method", "group"))
    findings = [
        line("method_agreement.grid", methods=len(methods), heads=int(table["n_heads"].max()), groups=len(groups),
             top=table.attrs["top"])
    ]  # fmt: skip
    pairs = list(itertools.combinations(range(len(methods)), 2))
    by_pair = {
        name: _medians([table[name].values[:, *pair] for pair in pairs])
        for name in ("rank_correlation", "layer_correlation", "top_overlap", "top_chance")
    }
    correlation, layers, overlap, chance = by_pair.values()
    if len(correlation):
        spans = {"low": correlation.min(), "high": correlation.max(), "layers_low": layers.min()}
        findings.append(line("method_agreement.pairs", n=len(correlation), **spans, layers_high=layers.max()))
    if len(overlap):
        findings.append(line("method_agreement.top", low=overlap.min(), high=overlap.max(), chance=chance.mean()))
    if len(correlation) < len(pairs):
        findings.append(line("method_agreement.unordered", n=len(pairs) - len(correlation), pairs=len(pairs)))
    has_numbers = np.diagonal(table["n_heads"].transpose("group", "method", "other").values, axis1=1, axis2=2) > 0
    for method, present in zip(methods, has_numbers.T, strict=True):
        if not present.all():
            findings.append(line("method_agreement.silent", method=method, groups=np.array(groups)[~present].tolist()))
    return [*findings, line("method_agreement.caution")]


def _medians(of_pairs: list[Float[np.ndarray, " group"]]) -> Float[np.ndarray, " pair"]:
    """Median over groups of the pairs that have a number in one."""
    finite = [values[np.isfinite(values)] for values in of_pairs]
    return np.array([np.median(values) for values in finite if len(values)])
