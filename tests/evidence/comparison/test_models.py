"""Structure of categories across models of different shapes."""

import numpy as np
import pytest
import xarray as xr
from memberships import memberships
from simulated import NAMES

import headcats as hc
from headcats.base.errors import DataError

ATTRS = {"method": "denoising_patch", "positions": "last", "metric": "logit_diff", "rule": "fdr()"}


def overlap_of(member: object, *, exists: object = True, sign: str = "helping", **attrs: str) -> xr.Dataset:
    """Overlap of `member (category, layer, head)`."""
    effect = np.where(exists, np.asarray(member) / 2, np.nan)
    members = memberships(member, effect=effect, attrs=ATTRS | attrs)
    members["suppressing"], members["suppressing_effect"] = members["member"], -members["effect"]
    return hc.overlap(members, sign=sign, draws=20)


def members(shape: tuple[int, int], cells: list[list[tuple[int, int]]]) -> np.ndarray:
    found = np.full((len(cells), *shape), -1, dtype=np.int8)
    for row, chosen in enumerate(cells):
        for layer, head in chosen:
            found[row, layer, head] = 1
    return found


CELLS = [[(0, 0), (1, 0)], [(1, 0), (2, 1)], [(1, 0)], []]


def test_numbers_by_hand():
    overlap = overlap_of(members((3, 4), CELLS))
    found = hc.evidence.category_structure({"small": overlap}).sel(model="small")
    assert found["size"].values.tolist() == [2, 2, 1, 0]
    np.testing.assert_allclose(found["share"], [2 / 12, 2 / 12, 1 / 12, 0])
    np.testing.assert_allclose(found["mean_layer"], [0.5, 1.5, 1, np.nan])
    np.testing.assert_allclose(found["depth"], [0.25, 0.75, 0.5, np.nan])
    assert found["n_heads"] == 12
    assert found["in_k"].values.tolist() == [2, 0, 1, 0]
    np.testing.assert_allclose(found["share_k"], [2 / 12, 0, 1 / 12, 0])
    np.testing.assert_allclose(found["expected_k"], overlap["expected"] / 12)
    between = found["jaccard"].sel(category=NAMES[0])
    np.testing.assert_allclose(between, [1, 1 / 3, 1 / 2, 0])
    assert np.isnan(found["jaccard"].sel(category=NAMES[3], other=NAMES[3]))
    assert found.attrs["method"] == "denoising_patch"


def test_the_same_structure_in_another_shape_correlates_fully():
    wide = [[(layer * 2, head + 3) for layer, head in cells] for cells in CELLS]
    found = hc.evidence.category_structure(
        {"a": overlap_of(members((3, 4), CELLS)), "b": overlap_of(members((5, 9), wide))}
    )
    assert found["correlation"].sel(model="a", other_model="b") == pytest.approx(1)
    assert (found["n_pairs"] == 6).all()
    np.testing.assert_allclose(found["depth"].sel(model="a"), found["depth"].sel(model="b"))
    np.testing.assert_allclose(2 * found["mean_layer"].sel(model="a"), found["mean_layer"].sel(model="b"))
    assert found["n_heads"].values.tolist() == [12, 45]


def test_too_few_or_constant_pairs_have_no_correlation():
    two = hc.evidence.category_structure(
        {"a": overlap_of(members((3, 4), CELLS[:2])), "b": overlap_of(members((3, 4), CELLS))}
    )
    assert two["n_pairs"].sel(model="a", other_model="b") == 1
    assert two["correlation"].isnull().sel(model="a").all()
    assert two["size"].sel(model="a").values.tolist() == [2, 2, 0, 0], "missing categories"
    assert two["share"].isnull().sel(model="a").values.tolist() == [False, False, True, True]
    apart = [[(0, 0)], [(0, 1)], [(0, 2)], [(0, 3)]]
    constant = hc.evidence.category_structure(
        {"a": overlap_of(members((3, 4), apart)), "b": overlap_of(members((3, 4), CELLS))}
    )
    assert constant["correlation"].isnull().sel(model="a").all()


def test_empty_and_unscored_categories_and_heads():
    exists = np.ones((4, 3, 4), dtype=bool)
    exists[3] = False
    exists[:, 2, 3] = False
    found = hc.evidence.category_structure({"a": overlap_of(members((3, 4), CELLS), exists=exists)}).sel(model="a")
    assert found["n_heads"] == 11
    assert found["jaccard"].sel(category=NAMES[3]).isnull().all()
    assert np.isnan(found["share"].sel(category=NAMES[3]))
    flat = hc.evidence.category_structure({"one layer": overlap_of(members((1, 4), [[(0, 0)]] * 2))})
    assert flat["depth"].isnull().all()
    assert (flat["mean_layer"] == 0).all()


def test_models_are_compared_under_one_protocol_and_approximations_are_marked():
    one, other = overlap_of(members((3, 4), CELLS)), overlap_of(members((3, 4), CELLS), metric="log_prob")
    with pytest.raises(DataError, match="is logit_diff"):
        hc.evidence.category_structure({"a": one, "b": other})
    for difference in ({"effect": "task_specific"}, {"sign": "suppressing"}):
        (part, value), *_ = difference.items()
        with pytest.raises(DataError, match=f"{part} is .* {value} for b"):
            hc.evidence.category_structure({"a": one, "b": overlap_of(members((3, 4), CELLS), **difference)})
    assert hc.evidence.category_structure({"a": one}).attrs["effect"] == "total"
    with pytest.raises(DataError, match="no model"):
        hc.evidence.category_structure({})
    approximation = overlap_of(members((3, 4), CELLS), approximation="first order")
    assert hc.evidence.category_structure({"a": one, "b": approximation})["approximation"].values.tolist() == [
        "",
        "first-order approximation",
    ]


def test_undecided_heads_bound_the_counts():
    unsure = members((3, 4), CELLS)
    unsure[3, 1, 0] = 0
    found = hc.evidence.category_structure({"a": overlap_of(unsure)}).sel(model="a")
    assert found["undecided"].values.tolist() == [0, 0, 0, 1]
    assert found["in_k"].values.tolist() == [2, 0, 1, 0]
    assert found["in_k_least"].values.tolist() == [2, 0, 0, 0]
    assert found["in_k_most"].values.tolist() == [2, 0, 1, 1]
    bounds = [found[f"jaccard_{end}"].sel(category=NAMES[0], other=NAMES[3]).item() for end in ("least", "most")]
    assert bounds == [0, 0.5]
