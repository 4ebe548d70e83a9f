from collections.abc import Callable

import numpy as np
import pytest
import xarray as xr
from figures.examples import mixed_overlap
from hypothesis import given
from hypothesis import strategies as st

from headcats.base.errors import DataError
from headcats.figures.tables import head_rows, require

INDEX = st.lists(st.integers(0, 9), min_size=1, max_size=5, unique=True)


def test_anything_but_a_dataset_is_refused() -> None:
    for given_data in (mixed_overlap(2, 2).effect, {"effect": 1}, None):
        with pytest.raises(DataError, match=f"hc.overlap .*got a {type(given_data).__name__}"):
            require(given_data, {"effect": ("layer", "head")}, figure="a_figure", table="hc.overlap")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda ds: ds.drop_vars("low"), r"`low` over \(category, layer, head\); got n_categories"),
        (lambda ds: ds.isel(category=0), r"`effect` over \(category, layer, head\)"),
        (lambda ds: ds.isel(layer=[]), "one layer"),
        (lambda ds: ds.assign_coords(head=["a", "b"]), "whole numbers"),
        (lambda ds: ds.assign_coords(layer=[1, 1, 2]), "distinct"),
    ],
)
def test_missing_variables_and_layers_that_are_not_counted_are_refused(
    change: Callable[[xr.Dataset], xr.Dataset], message: str
) -> None:
    variables = dict.fromkeys(("effect", "low"), ("category", "layer", "head"))
    with pytest.raises(DataError, match=f"a_figure .*{message}"):
        require(change(mixed_overlap(3, 2)), variables, figure="a_figure", table="hc.overlap")


@given(INDEX, INDEX)
def test_a_row_for_every_head_whatever_the_order_of_dimensions(layers: list[int], heads: list[int]) -> None:
    number = np.arange(len(layers) * len(heads), dtype=float).reshape(len(layers), len(heads))
    table = xr.Dataset({"effect": (("layer", "head"), number)}, coords={"layer": layers, "head": heads})
    rows = head_rows(table, {"effect": table["effect"].transpose("head", "layer")})
    assert rows["name"].tolist() == [f"L{layer}H{head}" for layer in layers for head in heads]
    assert rows["effect"].tolist() == number.ravel().tolist()
