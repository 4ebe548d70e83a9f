"""Names of members by their descriptors, where these are far out among all heads of the model."""

from typing import NamedTuple

import numpy as np
import xarray as xr

from headcats.results.head_axes import HEAD, cell_name, unit_of

ROLES = {
    "induction": "an induction head",
    "previous_token": "a previous-token head",
    "duplicate_token": "a duplicate-token head",
    "copying": "a copying head",
    "direct_logit": "a direct-logit head in {category}",
}
"""Descriptor -> what a head is called that has very much of it; of tasks, in a category that it is a member of."""
FENCE = 3.0
"""Interquartile ranges above the upper quartile of all heads; beyond is far out (Tukey, Exploratory Data Analysis)."""
LEAST = 0.4
"""Least attention, copying, or logits: below, a head does something else most of the time."""


class Role(NamedTuple):
    """A head, what it is called, and its descriptor beside that of the median head."""

    head: str
    name: str
    value: float
    median: float


def head_roles(overlap: xr.Dataset) -> list[Role]:
    """Roles of the members of any category, those of a kind together and the largest first; none of groups of heads."""
    if unit_of(overlap) != HEAD:
        return []
    members = overlap["member"] == 1
    roles: list[Role] = []
    for name in filter(overlap.__contains__, ROLES):
        descriptor = overlap[name]
        if "category" not in descriptor.dims:
            roles += _far_out(descriptor, members.any("category"), ROLES[name])
            continue
        for category in map(str, overlap["category"].values):
            of_one = {"category": category}
            roles += _far_out(descriptor.sel(of_one), members.sel(of_one), ROLES[name].format(**of_one))
    return sorted(roles, key=lambda role: (role.name not in ROLES.values(), -role.value))


def _far_out(values: xr.DataArray, members: xr.DataArray, called: str) -> list[Role]:
    cells, inside = (table.transpose("layer", "head").values for table in (values, members))
    if np.isnan(cells).all():
        return []
    lower, median, upper = np.nanquantile(cells, [0.25, 0.5, 0.75])
    far_out = inside & (cells > upper + FENCE * (upper - lower)) & (cells >= LEAST)
    layers, heads = values["layer"].values, values["head"].values
    return [
        Role(cell_name(layers[row], heads[column], HEAD), called, float(cells[row, column]), float(median))
        for row, column in np.argwhere(far_out)
    ]
