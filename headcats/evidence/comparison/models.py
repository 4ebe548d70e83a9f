"""Structure of categories across models: their heads do not correspond, but sizes, sharing and depth compare."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
import xarray as xr

from headcats.base.errors import DataError
from headcats.categories.argument_checks import OVERLAP, check_named
from headcats.results.declaration import approximation_label
from headcats.statistics.agreement import chance_jaccard

_COUNTS = ("size", "undecided", "in_k", "in_k_least", "in_k_most")


def category_structure(overlaps: Mapping[str, xr.Dataset]) -> xr.Dataset:
    """Sizes, sharing and depth of the categories of several models, side by side.

    Heads are not matched between models, so these may have different shapes: all numbers are shares of the model's own
    heads or of its depth.

    Args:
        overlaps: Name of a model -> what `hc.overlap` returns, all made by one protocol and of one sign.

    Returns:
        `size, share, undecided, mean_layer, depth (model, category)`: heads in the category, their share of the model's
        scored heads, undecided heads, the mean of the members' layers, and that mean from 0 (first layer) to 1 (last).
        `n_heads (model)`; `in_k, share_k, expected_k (model, k)`: heads in exactly k categories; `jaccard, expected
        (model, category, other)`; the bounds of `hc.overlap`, `in_k_least, in_k_most, jaccard_least, jaccard_most`, for
        undecided heads, which count as out. `correlation, n_pairs (model, other_model)`: Pearson correlation of Jaccard
        indices over pairs of categories, NaN below 3 pairs or where one is constant; on few pairs it says little.
        Categories without numbers are NaN (sizes 0). Coordinate `approximation (model)`, "" where effects are exact.
        Attributes: the protocol, and `sign`.

    Raises:
        DataError: No overlaps, or overlaps that differ in method, positions, metric, rule, effect or sign.

    Example:
        >>> import headcats as hc
        >>> scores = hc.score(hc.load("results/mini-icl"), method="denoising_patch", metric="logit_diff")
        >>> shared = hc.overlap(hc.categorize(scores))
        >>> table = hc.evidence.category_structure({"mini": shared, "the same": shared})
        >>> table.depth.dims
        ('model', 'category')
        >>> table.n_heads.values
        array([48, 48])

    References:
        headcats' own; correlating matrices of similarities instead of matching parts follows Kriegeskorte et al.
        (2008), Front. Syst. Neurosci. 2, 4.
    """
    check_named(overlaps, OVERLAP, by="hc.evidence.category_structure", of="model")
    if not overlaps:
        raise DataError("There is no model to compare.")
    _check_one_protocol(overlaps)
    names = list(overlaps)
    categories = list(dict.fromkeys(str(name) for overlap in overlaps.values() for name in overlap["category"].values))
    per_model = [_structure(overlap).reindex(category=categories, other=categories) for overlap in overlaps.values()]
    table = xr.concat(per_model, dim=pd.Index(names, name="model"), join="outer")
    for name in _COUNTS:
        table[name] = table[name].fillna(0).astype(np.int64)
    upper = np.triu_indices(len(categories), k=1)
    shared = [matrix[upper] for matrix in table["jaccard"].transpose("model", "category", "other").values]
    correlation = np.full((len(names), len(names)), np.nan)
    counts = np.zeros_like(correlation, dtype=np.int64)
    for i, first in enumerate(shared):
        for j, second in enumerate(shared):
            both = np.isfinite(first) & np.isfinite(second)
            counts[i, j] = both.sum()
            if counts[i, j] > 2 and np.ptp(first[both]) > 0 and np.ptp(second[both]) > 0:
                correlation[i, j] = np.corrcoef(first[both], second[both])[0, 1]
    approximations = [approximation_label(overlap) for overlap in overlaps.values()]
    table = table.assign_coords(other_model=names, approximation=("model", approximations))
    table["correlation"] = (("model", "other_model"), correlation)
    table["n_pairs"] = (("model", "other_model"), counts)
    return table.assign_attrs(_protocol(overlaps[names[0]]))


def _check_one_protocol(overlaps: Mapping[str, xr.Dataset]) -> None:
    first, *_ = protocols = {name: _protocol(overlap) for name, overlap in overlaps.items()}
    for name, protocol in protocols.items():
        for part, value in protocols[first].items():
            if protocol[part] != value:
                difference = f"{part} is {value} for {first}, {protocol[part]} for {name}"
                raise DataError(f"Models are compared under one protocol: {difference}.")


def _protocol(overlap: xr.Dataset) -> dict[str, str]:
    """Protocol in the attributes."""
    defaults = {"method": "", "positions": "", "metric": "", "rule": "", "effect": "total", "sign": "helping"}
    return {part: str(overlap.attrs.get(part, default)) for part, default in defaults.items()}


def _structure(overlap: xr.Dataset) -> xr.Dataset:
    categories = [str(name) for name in overlap["category"].values]
    order = ("category", "layer", "head")
    scored = overlap["effect"].transpose(*order).notnull().values
    has_scores, exists = scored.any(axis=(1, 2)), scored.any(axis=0)
    member = overlap["member"].transpose(*order).values == 1
    n_heads, sizes = int(exists.sum()), member.sum(axis=(1, 2))
    place = np.arange(overlap.sizes["layer"])
    # Layers by their number where a model scores only some of them (attention layers of a hybrid).
    layers = np.asarray(overlap["layer"].values, dtype=np.float64)
    depth = place / (len(place) - 1) if len(place) > 1 else np.full(1, np.nan)
    weight = member.sum(axis=2)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean_layer, mean_depth = (weight @ layers / sizes, weight @ depth / sizes)
    expected = [[chance_jaccard(i, j, heads=n_heads) for j in sizes.tolist()] for i in sizes.tolist()]
    has_both = np.outer(has_scores, has_scores)
    bounded = {
        f"{name}{end}": overlap[f"{of_overlap}{end}"]
        for name, of_overlap in (("in_k", "observed"), ("jaccard", "jaccard"))
        for end in ("", "_least", "_most")
    }
    return xr.Dataset(
        {
            **bounded,
            "size": ("category", sizes),
            "undecided": overlap["undecided"].sum(("layer", "head")),
            "share": ("category", np.where(has_scores, sizes / max(1, n_heads), np.nan)),
            "mean_layer": ("category", mean_layer),
            "depth": ("category", mean_depth),
            "n_heads": n_heads,
            "share_k": overlap["observed"] / max(1, n_heads),
            "expected_k": overlap["expected"] / max(1, n_heads),
            "expected": (("category", "other"), np.where(has_both, expected, np.nan)),
        },
        coords={"category": categories, "other": categories, "k": overlap["k"].values},
    )
