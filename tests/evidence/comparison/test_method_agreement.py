"""Agreement between methods whose truth is planted: the same, reversed, alike by layer alone, missing."""

import numpy as np
import pytest
import xarray as xr
from scipy import stats

from headcats.base.errors import DataError
from headcats.evidence.comparison.agreement import method_agreement

RNG = np.random.default_rng(0)
HEADS = RNG.permutation(np.arange(48.0)).reshape(1, 6, 8) / 48 - 0.25  # a quarter is negative


def strengths(groups: list[str] | None = None, **methods: object) -> xr.Dataset:
    """`(group, layer, head)` per method."""
    values = np.stack([np.asarray(one, dtype=float) for one in methods.values()])
    return xr.Dataset(
        {"strength": (("method", "group", "layer", "head"), values)},
        coords={
            "method": list(methods),
            "group": groups or [f"g{i}" for i in range(values.shape[1])],
            "layer": np.arange(values.shape[2]),
            "head": np.arange(values.shape[3]),
            "kind": ("method", ["causal"] * len(values)),
        },
        attrs={"categories": "[]"},
    )


def pair(found: xr.Dataset, first: str = "a", second: str = "b") -> xr.Dataset:
    return found.sel({"method": first, "other": second}).isel(group=0)


def test_identical_methods_agree_fully() -> None:
    found = pair(method_agreement(strengths(a=HEADS, b=10 * HEADS + 0.0)))
    assert float(found["rank_correlation"]) == pytest.approx(1)
    assert int(found["n_heads"]) == 48


def test_numbers_by_hand() -> None:
    first, second = np.zeros((1, 2, 4)), np.zeros((1, 2, 4))
    first[0], second[0] = [[8, 7, 6, 5], [4, 3, 2, -1]], [[8, 1, 6, 5], [-4, 3, 2, 7]]
    found = pair(method_agreement(strengths(a=first, b=second)))
    assert float(found["rank_correlation"]) == pytest.approx(stats.spearmanr(first.ravel(), second.ravel()).statistic)


def test_methods_that_know_layers_alone_are_told_from_those_that_know_heads() -> None:
    draws = np.random.default_rng(2)
    layers = np.linspace(0, 1, 6)[None, :, None]
    first, second, third = (layers + 0.05 * draws.standard_normal((1, 6, 8)) for _ in range(3))
    found = method_agreement(strengths(a=first, b=second, c=first + 0.01 * third))
    alike = pair(found)
    assert float(alike["rank_correlation"]) > 0.8
    assert float(alike["rank_correlation"]) == pytest.approx(float(alike["layer_correlation"]), abs=0.05)
    permuted = [stats.spearmanr(draws.permuted(first[0], axis=1).ravel(), second.ravel()).statistic for _ in range(500)]
    assert float(alike["layer_correlation"]) == pytest.approx(np.mean(permuted), abs=0.005)
    known = pair(found, "a", "c")
    assert float(known["rank_correlation"]) > float(known["layer_correlation"]) + 0.01


def test_missing_groups_and_heads_are_counted() -> None:
    lacking = np.stack([HEADS[0], np.full((6, 8), np.nan)])
    some = np.stack([HEADS[0], HEADS[0]])
    some[0, 0, 0] = np.nan
    constant = np.ones((2, 6, 8))
    found = method_agreement(strengths(["x", "y"], a=lacking, b=some, c=constant))
    at = found.sel({"method": "a", "other": "b"})
    assert at["n_heads"].values.tolist() == [47, 0]
    assert at["rank_correlation"].values[0] == pytest.approx(1)
    for name in ("rank_correlation", "layer_correlation"):
        assert np.isnan(at[name].values[1]), name
    assert found["rank_correlation"].sel(other="c").isnull().all(), "a constant orders nothing"


def test_it_is_symmetric_and_does_not_depend_on_the_other_methods_or_their_order() -> None:
    draws = np.random.default_rng(5)
    three = {name: draws.standard_normal((2, 6, 8)) for name in "abc"}
    found = method_agreement(strengths(**three))
    for name in ("rank_correlation", "layer_correlation", "n_heads"):
        np.testing.assert_array_equal(found[name], found[name].transpose("group", "other", "method"))
    turned = method_agreement(strengths(**{name: three[name] for name in "cb"}))
    for name in ("rank_correlation", "layer_correlation"):
        np.testing.assert_allclose(
            turned[name].sel({"method": "c", "other": "b"}), found[name].sel({"method": "b", "other": "c"})
        )
    assert found["kind"].values.tolist() == ["causal"] * 3
    assert found.attrs["categories"] == "[]"


def test_what_is_refused() -> None:
    table = strengths(a=HEADS, b=HEADS)
    with pytest.raises(DataError, match="two methods"):
        method_agreement(table.isel(method=[0]))
    with pytest.raises(DataError, match=r"`strength`.*method_scores"):
        method_agreement(table.rename(strength="effect"))
    with pytest.raises(DataError, match="over method, group"):
        method_agreement(table.isel(group=0))
