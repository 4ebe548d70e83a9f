"""The axes `layer` and `head` of labelled tables: what `head` counts, how a cell is named, which heads share keys.

Under grouped-query attention the query heads of a group read the same keys and values. Tables over query heads then
have the coordinate `kv_head (layer, head)`; tables over groups have the attribute `unit`.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
import xarray as xr

HEAD, KV_GROUP = "head", "kv_group"
UNITS = (HEAD, KV_GROUP)
"""Units of a place along `head`: a query head, or all query heads that share keys and values."""
KV_HEAD = "kv_head"
"""Coordinate `(layer, head)`: number of the key-value head that a query head reads; `ABSENT` for heads that do not
exist. It is there where any heads of the model share one."""
ABSENT = -1
_GRID = ("layer", "head")


def unit_of(table: Any) -> str:
    """Unit of the axis `head` of a table, "head" or "kv_group"; of a block in a results tree, too."""
    return str(table.attrs.get("unit", HEAD))


def unit_attrs(unit: str) -> dict[str, str]:
    """The attribute `unit` of a table; {} where it counts query heads."""
    return {} if unit == HEAD else {"unit": unit}


def noun(unit: str) -> str:
    """Noun for a cell: "head" or "group"."""
    return "group" if unit == KV_GROUP else "head"


def letter(unit: str) -> str:
    """The letter of its name."""
    return noun(unit)[0].upper()


def cell_name(layer: int | np.integer, number: int | np.integer, unit: str = HEAD) -> str:
    """`L3H4` for a query head, `L3G1` for a group of them."""
    return f"L{layer}{letter(unit)}{number}"


def head_coords(table: xr.Dataset | xr.DataArray) -> dict[str, xr.Variable]:
    """Coordinates of a new table over the heads of this one: `layer`, `head`, and `kv_head` where there is one."""
    coords = {axis: xr.Variable(axis, np.asarray(table[axis])) for axis in _GRID if axis in table.dims}
    if KV_HEAD in table.coords:
        coords[KV_HEAD] = table[KV_HEAD].variable.transpose(*_GRID)
    return coords


def kv_head_of(tables: Iterable[xr.Dataset | xr.DataArray]) -> dict[str, xr.Variable]:
    """`kv_head` of the first of some tables of one model that has it; {} where none has."""
    return next(({KV_HEAD: coords[KV_HEAD]} for coords in map(head_coords, tables) if KV_HEAD in coords), {})
