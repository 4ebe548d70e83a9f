"""Memberships from blocks of joint methods: of tasks, of seeds, of absolute values, and what is no block."""

import json

import numpy as np
import pytest
import xarray as xr
from example_joint import ANSWERS, gates_of, probe_of, weights_of

import headcats as hc
from headcats.base.errors import DataError, OptionError, StatisticsWarning

pytestmark = pytest.mark.filterwarnings("ignore::headcats.base.errors.StatisticsWarning")


CATEGORIES = json.dumps(
    [{"name": name, "colour": colour} for name, colour in zip("ABC", ("#1f77b4", "#ff7f0e", "#2ca02c"), strict=True)]
)


def weights():
    """Two tasks of A, one of B, none of C; 2 layers of 2 heads, of which the last is missing."""
    score = np.array([[[0.5, 0.16], [0.0, np.nan]], [[0.1, 0.3], [0.15, np.nan]], [[0.0, 0.9], [0.14, np.nan]]])
    suppression = np.where(np.isnan(score), np.nan, 0.0)
    suppression[2, 1, 0] = 0.4
    made = weights_of(
        score,
        suppression=suppression,
        tasks=["one", "two", "three"],
        belongs=["A", "A", "B"],
        threshold=[0.15, 0.2, 0.15],
    )
    return made.assign(suppression_threshold=("task", [0.15, 0.15, 0.45])).assign_attrs(categories=CATEGORIES)


def gates():
    """Two data sets, three seeds, a layer of three heads and one of two; the last seed of `Math` was not fitted."""
    draws = np.random.default_rng(0).random((2, 3, 2, 3))
    draws[:, :, 1, 2] = np.nan
    draws[0, 2] = np.nan
    return gates_of(draws, interference=draws**0.2, datasets=["Math", "Syntax"]).assign(n=("dataset", [64, 80]))


def probes():
    """Two seeds of opposite sign."""
    importance = np.array([[[[3.0, -0.1, 0.2]]], [[[-2.8, 0.1, 0.1]]]])
    return probe_of(importance, functions=["Retrieval"], verdict="functions")


def test_gates_are_in_if_they_facilitate_from_every_start():
    made, members = gates(), hc.categorize(gates())
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
    assert set(hc.overlap(members)["set"].values.ravel()) <= {"", "Math", "Syntax", "Math+Syntax"}


def test_importances_are_in_up_to_the_elbow_of_their_absolute_values():
    members = hc.categorize(probes())
    effects = abs(probes()).mean("seed").rename(importance="effect")
    assert members.member.values.tolist() == hc.rules.elbow()(effects).values.tolist() == [[[1, -1, 1]]]
    np.testing.assert_allclose(members.effect.values, [[[2.9, 0.1, 0.15]]])
    assert (members.suppressing == 0).all(), "absolute values have no opposite"
    assert members.suppressing_effect.isnull().all()
    assert members.tasks.values.tolist() == [[["Retrieval", "", "Retrieval"]]]
    hc.overlap(members)


def test_tasks_take_any_rule_on_effects_and_any_number_of_tasks():
    both = hc.categorize(weights().sel(task=["one", "two"]), min_tasks=2)
    assert both.member.sel(category="A").values.tolist() == [[-1, 1], [-1, 0]]
    assert both.effect.sel(category="A").values[0].tolist() == [0.1, 0.16]
    half = hc.categorize(weights().sel(task=["one", "two"]), min_tasks="half")
    assert half.equals(both)
    largest = hc.categorize(weights(), rule=hc.rules.top_fraction(p=0.4))
    assert largest.member.sel(category="A").values.tolist() == [[1, -1], [-1, 0]]
    by_value = hc.categorize(weights(), rule=hc.rules.threshold(value=0.15))
    assert by_value.member.sel(category="A").values.tolist() == [[1, 1], [1, 0]]  # a score of .15 is enough
    assert by_value.tasks.sel(category="A").values[1, 0] == "two"
    assert by_value.suppressing.sel(category="B").values.tolist() == [[-1, -1], [1, 0]]


def test_every_task_has_a_threshold_of_its_own_where_no_rule_is_named():
    members = hc.categorize(weights())
    assert members.category.values.tolist() == ["A", "B", "C"]
    assert members.member.values.tolist() == [[[1, 1], [-1, 0]], [[-1, 1], [-1, 0]], [[0, 0], [0, 0]]]
    assert members.tasks.sel(category="A").values.tolist() == [["one", "one,two"], ["", ""]]
    assert (members.suppressing != 1).all(), ".4 is below the threshold of .45"
    assert members.suppressing_effect.sel(category="B").values[1, 0] == -0.4
    assert members.n_tasks.values.tolist() == [2, 1, 0]
    assert members.effect.sel(category="C").isnull().all()


def test_a_category_with_fewer_tasks_than_needed_is_undecided_and_named():
    with pytest.warns(StatisticsWarning, match=r"min_tasks=2 stay undecided: B \(1\)"):
        members = hc.categorize(weights(), min_tasks=2)
    assert members.member.sel(category="B").values.tolist() == [[0, 0], [0, 0]]
    assert members.effect.sel(category="B").isnull().all()
    assert members.member.sel(category="A").values.tolist() == [[-1, 1], [-1, 0]]
    assert members.min_tasks.values.tolist() == [2, 2, 0]
    hc.overlap(members)


def test_one_relation_of_several_saturates():
    with pytest.warns(StatisticsWarning, match=r"saturates: A \(2 relations\)"):
        hc.categorize(weights())


@pytest.mark.usefixtures("unchecked_types")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rule": hc.rules.fdr()}, "fdr reads more"),
        ({"min_tasks": 3}, "than 2 relations"),
        ({"min_tasks": 0}, "at least 1"),
        ({"rule": "elbow"}, "takes a rule"),
        ({"min_tasks": True}, "at least 1"),
    ],
)
def test_what_a_block_cannot_be_judged_by(options, message):
    with pytest.raises(OptionError, match=message):
        hc.categorize(weights(), **options)


@pytest.mark.usefixtures("unchecked_types")
@pytest.mark.parametrize(
    ("table", "message"),
    [
        (xr.Dataset(attrs={"declaration": ANSWERS.as_text()}), "got one of spoken_probe"),
        (gates().isel(seed=0), "facilitation is missing"),
        (gates().isel(seed=[]), "is empty"),
        (gates().assign_attrs(categories="Math"), "JSON list"),
        (gates().assign_attrs(categories='[{"colour": "red"}]'), "JSON list"),
        (gates().drop_vars("interference"), "interference is missing"),
        (probes().assign_attrs(verdict="not above chance"), "not above chance"),
        (weights().assign_attrs(categories=json.dumps([])), "list 'A', 'B'"),
    ],
)
def test_what_is_no_block_of_sorted_heads(table, message):
    with pytest.raises(DataError, match=message):
        hc.categorize(table)


def test_calls_that_take_memberships_say_how_a_block_gives_them():
    for call in (hc.overlap, hc.categories.head_table):
        with pytest.raises(DataError) as refused:
            call(gates())
        assert str(refused.value).endswith("Pass hc.categorize(block).")
