"""Heads that several protocols agree on."""

from collections.abc import Mapping
from dataclasses import dataclass

import xarray as xr

from headcats.categories.replicates import replicated
from headcats.evidence.comparison.agreement import SIGNS

_BY = ("always", "half", "any")


@dataclass(frozen=True)
class Replicates:
    """Heads of a category over several protocols.

    Attributes:
        category: Its name.
        judged: How many protocols have numbers in it.
        heads: "always", "half" or "any" -> the heads that are in it under all of these, at least half of them, or any.
    """

    category: str
    judged: int
    heads: Mapping[str, list[str]]


def replicates(members: Mapping[str, xr.Dataset], *, sign: str) -> list[Replicates]:
    """Heads that are in a category under all protocols, at least half of them (of three or more), or any.

    Args:
        members: Protocol -> what `hc.categorize` returns.
        sign: "helping" or "suppressing" heads.

    Returns:
        One per category; none for a single protocol, or protocols of different categories.
    """
    categories = [table["category"].values.tolist() for table in members.values()]
    if len(members) < 2 or any(names != categories[0] for names in categories):
        return []
    outcome, _ = SIGNS[sign]
    replicates_of = []
    for name in categories[0]:
        scored = {
            protocol: table.sel(category=[name])
            for protocol, table in members.items()
            if table["effect"].sel(category=name).notnull().any()
        }
        heads = {
            by: _head_names(replicated(scored, by=by)[outcome].sel(category=name) == 1) if scored else []
            for by in _BY
            if by != "half" or len(members) > 2
        }
        replicates_of.append(Replicates(name, len(scored), heads))
    return replicates_of


def _head_names(inside: xr.DataArray) -> list[str]:
    cells = inside.stack(cell=("layer", "head"))
    return [f"L{layer}H{head}" for layer, head in cells["cell"].values[cells.values]]
