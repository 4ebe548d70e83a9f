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
}
"""Descriptor -> what a head is called that has very much of it."""
FENCE = 3.0
"""Interquartile ranges above the upper quartile of all heads; beyond is far out (Tukey, Exploratory Data Analysis)."""
LEAST = 0.4
"""Least attention, or copying: below, a head does something else most of the time."""


class Role(NamedTuple):
    """A head, what it is called, and its descriptor beside that of the median head."""

    head: str
    name: str
    value: float
    median: float


def head_roles(overlap: xr.Dataset) -> list[Role]:
    """Roles of the members of any category, the largest values first; none of groups of heads."""
    if unit_of(overlap) != HEAD:
        return []
    members = (overlap["member"] == 1).any("category").transpose("layer", "head").values
    roles = []
    for name, called in ROLES.items():
        if name not in overlap:
            continue
        values = overlap[name].transpose("layer", "head").values
        if np.isnan(values).all():
            continue
        lower, median, upper = np.nanquantile(values, [0.25, 0.5, 0.75])
        far_out = members & (values > upper + FENCE * (upper - lower)) & (values >= LEAST)
        roles += [
            Role(cell_name(overlap["layer"].values[row], overlap["head"].values[column], HEAD), called, value, median)
            for row, column in np.argwhere(far_out)
            for value in [float(values[row, column])]
        ]
    return sorted(roles, key=lambda role: -role.value)
