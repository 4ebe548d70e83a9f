"""Memberships from blocks of joint methods: gates, probes, relations by other rules, and what is no block."""

import json

import numpy as np
import pytest
import xarray as xr
from papers.ov_relation.test_members import relations

import headcats as hc
from headcats.categories.by_block import block_members
from headcats.errors import DataError, OptionError, StatisticsWarning

pytestmark = pytest.mark.filterwarnings("ignore::headcats.errors.StatisticsWarning")


def gates():
    """Two data sets, three seeds, a layer of three heads and one of two; the last seed of `Math` was not fitted."""
    draws = np.random.default_rng(0).random((2, 3, 2, 3))
    draws[:, :, 1, 2] = np.nan
    draws[0, 2] = np.nan
    axes = ("dataset", "seed", "layer", "head")
    coords = {"dataset": ["Math", "Syntax"], "seed": [0, 1, 2], "layer": [0, 1], "head": [0, 1, 2]}
    scores = {name: (axes, draws**power) for name, power in (("facilitation", 1.0), ("interference", 0.2))}
    return xr.Dataset(scores | {"n": ("dataset", [64, 80])}, coords, {"method": "head_gating"})


def probes():
    importance = np.array([[[[3.0, -0.1, 0.2]]], [[[-2.8, 0.1, 0.1]]]])  # two seeds of opposite sign
    axes = ("seed", "function", "layer", "head")
    coords = {"function": ["Retrieval"], "layer": [0], "head": [0, 1, 2]}
    return xr.Dataset({"importance": (axes, importance)}, coords, {"method": "function_probe", "verdict": "functions"})


def test_gates_are_in_if_they_facilitate_from_every_start():
    made, members = gates(), block_members(gates())
    least = made.facilitation.min("seed").values
    assert members.member.values.tolist() == np.where(np.isnan(least), 0, np.where(least >= 0.5, 1, -1)).tolist()
    np.testing.assert_array_equal(members.effect.values, least)
    interference = made.interference.min("seed").values
    assert (members.suppressing.values == 1).tolist() == (interference >= 0.5).tolist()
    np.testing.assert_array_equal(members.suppressing_effect.values, -interference)
    assert members.member.values[:, 1, 2].tolist() == [0, 0], "a head that the layer lacks"
    assert members.n_items.values.tolist() == [64, 80]
    assert members.n_tasks.values.tolist() == members.min_tasks.values.tolist() == [1, 1]
    assert members.attrs["rule"] == "threshold(value=0.5)"
    assert set(hc.overlap(members, draws=20)["set"].values.ravel()) <= {"", "Math", "Syntax", "Math+Syntax"}


def test_importances_are_in_up_to_the_elbow_of_their_absolute_values():
    members = block_members(probes())
    effects = hc.papers.function_probe.importance_effects(probes())
    assert members.member.values.tolist() == hc.rules.elbow()(effects).values.tolist() == [[[1, -1, 1]]]
    np.testing.assert_allclose(members.effect.values, [[[2.9, 0.1, 0.15]]])
    assert (members.suppressing == 0).all(), "absolute values have no opposite"
    assert members.suppressing_effect.isnull().all()
    assert members.tasks.values.tolist() == [[["Retrieval", "", "Retrieval"]]]
    hc.overlap(members, draws=20)


def test_relations_take_any_rule_on_effects_and_any_number_of_tasks():
    both = block_members(relations().sel(task=["one", "two"]), min_tasks=2)
    assert both.member.sel(category="A").values.tolist() == [[-1, 1], [-1, 0]]
    assert both.effect.sel(category="A").values[0].tolist() == [0.1, 0.16]
    half = block_members(relations().sel(task=["one", "two"]), min_tasks="half")
    assert half.equals(both)
    largest = block_members(relations(), rule=hc.rules.top_fraction(p=0.4))
    assert largest.member.sel(category="A").values.tolist() == [[1, -1], [-1, 0]]
    by_value = block_members(relations(), rule=hc.rules.threshold(value=0.15))
    assert by_value.member.equals(hc.papers.ov_relation.relation_members(relations(), threshold=0.15).member)


def test_a_category_with_fewer_tasks_than_needed_is_undecided_and_named():
    with pytest.warns(StatisticsWarning, match=r"min_tasks=2 stay undecided: B \(1\)"):
        members = block_members(relations(), min_tasks=2)
    assert members.member.sel(category="B").values.tolist() == [[0, 0], [0, 0]]
    assert members.effect.sel(category="B").isnull().all()
    assert members.member.sel(category="A").values.tolist() == [[-1, 1], [-1, 0]]
    assert members.min_tasks.values.tolist() == [2, 2, 0]
    hc.overlap(members, draws=10)


def test_one_relation_of_several_saturates():
    with pytest.warns(StatisticsWarning, match=r"saturates: A \(2 relations\)"):
        block_members(relations())


@pytest.mark.usefixtures("unchecked_types")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rule": hc.rules.fdr()}, "fdr reads more"),
        ({"rule": hc.rules.null_calibrated(quantile=0.9)}, "null_calibrated reads more"),
        ({"min_tasks": 3}, "than 2 relations"),
        ({"min_tasks": 0}, "at least 1"),
        ({"rule": "elbow"}, "takes a rule"),
        ({"min_tasks": True}, "at least 1"),
    ],
)
def test_what_a_block_cannot_be_judged_by(options, message):
    with pytest.raises(OptionError, match=message):
        block_members(relations(), **options)


@pytest.mark.usefixtures("unchecked_types")
@pytest.mark.parametrize(
    ("table", "message"),
    [
        (None, "got None"),
        (xr.DataArray([1.0]), "got a DataArray"),
        (xr.Dataset(), "attribute `method`"),
        (xr.Dataset(attrs={"method": "token_probe"}), "got token_probe"),
        (gates().isel(seed=0), "facilitation is missing"),
        (gates().isel(seed=[]), "is empty"),
        (gates().assign_attrs(categories="Math"), "JSON list"),
        (gates().assign_attrs(categories='[{"colour": "red"}]'), "JSON list"),
        (gates().drop_vars("interference"), "interference is missing"),
        (probes().assign_attrs(verdict="not above chance"), "not above chance"),
        (relations().assign_attrs(categories=json.dumps([])), "list 'A', 'B'"),
    ],
)
def test_what_is_no_block_of_sorted_heads(table, message):
    with pytest.raises(DataError, match=message):
        block_members(table)


@pytest.mark.parametrize(
    ("call", "advice"),
    [
        (hc.overlap, "Pass hc.categories.block_members(block)."),
        (hc.categories.head_table, "Pass hc.categories.block_members(block)."),
        (hc.categorize, "hc.categories.block_members(block) sorts."),
    ],
)
def test_calls_that_take_memberships_say_how_a_block_gives_them(call, advice):
    with pytest.raises(DataError) as refused:
        call(gates())
    assert str(refused.value).endswith(advice)
