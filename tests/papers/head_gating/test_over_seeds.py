"""Reduction over random starts, on numbers that can be counted by hand."""

import numpy as np
import pytest
import xarray as xr

from headcats.base.errors import DataError, OptionError
from headcats.papers.head_gating.over_seeds import GATE_SCORES, always_any

NAN = np.nan
AXES = ("dataset", "seed", "layer", "head")


def gates(values: np.ndarray, **attrs: str) -> xr.Dataset:
    """Facilitation as given, interference half of it, irrelevance 1 minus it."""
    names = [f"set {place}" for place in range(len(values))]
    axes = {"dataset": names, **{axis: range(n) for axis, n in zip(AXES[1:], values.shape[1:], strict=True)}}
    grids = {"facilitation": values, "interference": values / 2, "irrelevance": 1 - values}
    return xr.Dataset({name: (AXES, grid) for name, grid in grids.items()}, coords=axes, attrs=attrs)


# data set, seed, layer, head; layer 1 has one head only
VALUES = np.array([[[[0.9, 0.2], [0.5, NAN]], [[0.6, 0.7], [0.1, NAN]], [[0.5, 0.4], [0.3, NAN]]]])


def test_the_smallest_the_largest_and_the_share() -> None:
    found = always_any(gates(VALUES))
    one = found.sel(dataset="set 0", score="facilitation")
    assert found.always.dims == found["any"].dims == ("score", "dataset", "layer", "head")
    np.testing.assert_array_equal(one.always, [[0.5, 0.2], [0.1, NAN]])
    np.testing.assert_array_equal(one["any"], [[0.9, 0.7], [0.5, NAN]])
    np.testing.assert_allclose(one.percent_always, 100 / 3)
    np.testing.assert_allclose(one.percent_any, 100)
    np.testing.assert_array_equal(found.always.sel(score="interference", dataset="set 0"), [[0.25, 0.1], [0.05, NAN]])
    np.testing.assert_allclose(found["any"].sel(score="irrelevance", dataset="set 0"), [[0.5, 0.8], [0.9, NAN]])
    assert found.n_seeds.values.tolist() == [3]
    assert found.score.values.tolist() == ["facilitation", "interference", "irrelevance"] == list(GATE_SCORES)


def test_the_threshold() -> None:
    found = always_any(gates(VALUES, categories="[]"), threshold=0.6).sel(dataset="set 0", score="facilitation")
    np.testing.assert_allclose(found.percent_always, 0)
    np.testing.assert_allclose(found.percent_any, 200 / 3)
    assert found.attrs == {"categories": "[]", "threshold": 0.6}
    for wrong in (0.0, 1.0, -1.0):
        with pytest.raises(OptionError, match="threshold"):
            always_any(gates(VALUES), threshold=wrong)


def test_seeds_that_are_missing_count_for_nothing() -> None:
    both = np.concatenate([VALUES, VALUES])
    both[1, 1] = NAN
    assert always_any(gates(VALUES * NAN)).n_seeds.values.tolist() == [0]
    found = always_any(gates(both))
    assert found.n_seeds.values.tolist() == [3, 2]
    rest = always_any(gates(VALUES[:, [0, 2]]))
    for name in ("always", "any", "percent_always", "percent_any"):
        np.testing.assert_array_equal(found[name].isel(dataset=1), rest[name].isel(dataset=0))


def test_other_data_are_refused() -> None:
    for wrong, message in [
        (gates(VALUES).drop_vars("irrelevance"), "'irrelevance' is missing"),
        (gates(VALUES).isel(dataset=0), r"'facilitation' is missing or has other dims.*sel\(dataset=\["),
    ]:
        with pytest.raises(DataError, match=message):
            always_any(wrong)
