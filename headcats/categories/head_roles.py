"""Names of members by their descriptors, where these are far out among all heads of the model."""

from typing import NamedTuple

import numpy as np
import xarray as xr

from headcats.results.head_axes import HEAD, cell_name, unit_of

FENCE = 3.0
"""Interquartile ranges above the upper quartile of all heads; beyond is far out (Tukey, Exploratory Data Analysis)."""


class Kind(NamedTuple):
    """Name of a head that has very much of a descriptor, the least value (below, it does mostly else), and its unit."""

    name: str
    least: float
    of: str = ""


KINDS = {
    "induction": Kind("an induction head", 0.4),
    "previous_token": Kind("a previous-token head", 0.4),
    "duplicate_token": Kind("a duplicate-token head", 0.4),
    "copying": Kind("a copying head", 0.4),
    # As much as makes an effect a membership.
    "direct_share": Kind("with a direct effect on the logits in {category}", 0.05, " of the gap"),
}
"""Variable of an overlap -> its kind; of categories, in one that the head is a member of."""


class Role(NamedTuple):
    """A head, what it is called, and its descriptor beside that of the median head, with the unit."""

    head: str
    name: str
    value: float
    median: float
    of: str


def head_roles(overlap: xr.Dataset) -> list[Role]:
    """Roles of the members of any category, kind by kind, the largest first; none of groups of heads."""
    if unit_of(overlap) != HEAD:
        return []
    members, roles = overlap["member"] == 1, list[Role]()
    for name, kind in KINDS.items():
        if name not in overlap:
            continue
        if "category" not in overlap[name].dims:
            of_kind = _far_out(overlap[name], members.any("category"), kind)
        else:
            of_kind = []
            for category in map(str, overlap["category"].values):
                of_one, called = {"category": category}, kind.name.format(category=category)
                of_kind += _far_out(overlap[name].sel(of_one), members.sel(of_one), kind._replace(name=called))
        roles += sorted(of_kind, key=lambda role: -role.value)
    return roles


def _far_out(values: xr.DataArray, members: xr.DataArray, kind: Kind) -> list[Role]:
    cells, inside = (table.transpose("layer", "head").values for table in (values, members))
    if np.isnan(cells).all():
        return []
    lower, median, upper = np.nanquantile(cells, [0.25, 0.5, 0.75])
    far_out = inside & (cells > upper + FENCE * (upper - lower)) & (cells >= kind.least)
    layers, heads = values["layer"].values, values["head"].values
    return [
        Role(cell_name(layers[row], heads[column], HEAD), kind.name, float(cells[row, column]), float(median), kind.of)
        for row, column in np.argwhere(far_out)
    ]
