"""Arrays of figures, as they are and as plotly writes them."""

import json

import numpy as np
import plotly.graph_objects as go

from headcats.figures.static.arrays import each, numbers, unpacked


def test_an_array_survives_plotlys_own_text_of_it() -> None:
    for kind in ("<f4", "<f8", "<i2", "|u1"):
        array = np.arange(6, dtype=kind).reshape(2, 3)
        written = json.loads(go.Figure(go.Heatmap(z=array)).to_json())["data"][0]["z"]
        assert "bdata" in written
        np.testing.assert_array_equal(unpacked(written), array)


def test_none_is_no_number() -> None:
    np.testing.assert_array_equal(numbers([1, None, 2.5]), [1, np.nan, 2.5])
    np.testing.assert_array_equal(numbers([[1, None], [None, 2]]), [[1, np.nan], [np.nan, 2]])


def test_one_value_stands_for_every_mark() -> None:
    assert each("red", 2) == ["red", "red"]
    assert each(("red", None), 2) == ["red", None]
    assert each(np.array([3, 4]), 2) == [3, 4]
