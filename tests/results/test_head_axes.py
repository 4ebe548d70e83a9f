"""What the axis of heads counts, and its coordinates."""

import numpy as np
import xarray as xr

from headcats.results.head_axes import cell_name, head_coords, unit_of
from headcats.results.label import Label

NUMBER = xr.Variable(("head", "layer"), [[0, 0], [0, 0], [1, 1]])
TABLE = xr.Dataset(
    {"score": (("task", "layer", "head"), np.zeros((1, 2, 3)))},
    coords={"task": ["a"], "layer": [0, 4], "head": [0, 1, 2], "kv_head": NUMBER},
)


def test_names() -> None:
    assert (cell_name(3, 4), cell_name(3, 1, "kv_group")) == ("L3H4", "L3G1")
    assert (unit_of(TABLE), unit_of(TABLE.assign_attrs(unit="kv_group"))) == ("head", "kv_group")
    assert (Label.parse("m:unit=kv_group@last").unit, Label.parse("m@last").unit) == ("kv_group", "head")


def test_a_new_table_has_the_same_heads() -> None:
    made = xr.Dataset(coords=head_coords(TABLE))
    assert made.kv_head.dims == ("layer", "head")
    assert made.kv_head.values.tolist() == [[0, 0, 1], [0, 0, 1]]
    assert made["layer"].values.tolist() == [0, 4]
    assert set(head_coords(TABLE.drop_vars("kv_head"))) == {"layer", "head"}
    assert head_coords(xr.Dataset(coords={"role": ["x"]})) == {}
