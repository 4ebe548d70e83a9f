"""Beside the categories of every head: what it does, whatever the task."""

import xarray as xr

from headcats.results.descriptors import DESCRIPTORS
from headcats.results.head_axes import HEAD, unit_of


def with_descriptors(overlap: xr.Dataset, descriptors: xr.Dataset | None) -> xr.Dataset:
    """Members or an overlap, with the descriptors of a run `(layer, head)`.

    `direct_logit` becomes `(category, layer, head)`, the mean over the tasks of the category that have been described.
    A table over groups of heads stays as it is: descriptors are of heads.
    """
    if descriptors is None or unit_of(overlap) != HEAD:
        return overlap
    of_heads = {name: descriptors[name] for name in DESCRIPTORS if name in descriptors and name != "direct_logit"}
    overlap = overlap.assign(of_heads)
    if "category" not in descriptors.coords or not descriptors.sizes["task"]:
        return overlap
    means = descriptors["direct_logit"].groupby("category").mean(keep_attrs=True)
    return overlap.assign(direct_logit=means.reindex(category=overlap["category"].values))
