"""Heads that two ways of judging agree on."""

import itertools

import numpy as np
import pytest
import xarray as xr
from example_joint import gates_of
from memberships import memberships

import headcats as hc
from headcats.base.errors import DataError, StatisticsWarning

DIMS = ("category", "layer", "head")


def members(inside, *, categories=("A",), undecided=False):
    """Memberships with these heads in, `[category, layer, head]`."""
    outcome = np.where(np.array(undecided) == 1, 0, np.where(np.array(inside), 1, -1))
    found = memberships(outcome, effect=0.5, names=list(categories), attrs={"rule": "some(rule=1)"})
    numbers = dict.fromkeys(("low", "high", "p_value", "q_value"), found["effect"])
    tasks = {"tasks": (DIMS, np.full(outcome.shape, "t")), "n_tasks": ("category", [2] * len(categories))}
    return found.assign(numbers | tasks)


def test_in_where_both_are_in_and_out_where_one_is():
    first = members([[[1, 1, 0, 0], [1, 0, 0, 0]]])
    other = members([[[1, 0, 0, 1], [0, 0, 0, 0]]], undecided=[[[0, 0, 0, 0], [1, 0, 0, 0]]])
    both = hc.categories.in_both(first, other)
    assert both.member.values.tolist() == [[[1, -1, -1, -1], [0, -1, -1, -1]]]
    assert [int(both[name].item()) for name in ("size", "size_first", "size_other")] == [1, 3, 2]
    assert both.attrs["rule"] == "some(rule=1)"
    assert both.effect.equals(first.effect)


def test_chance_is_every_placement_within_the_layers():
    """Mean and tail against all pairs of placements, counted one by one."""
    first, other = members([[[1, 1, 0, 0], [1, 0, 0, 0]]]), members([[[1, 0, 0, 1], [1, 0, 0, 0]]])
    both = hc.categories.in_both(first, other)
    pairs = list(itertools.combinations(range(4), 2))
    counts = np.array([len({*a} & {*b}) + (i == j) for a in pairs for b in pairs for i in range(4) for j in range(4)])
    np.testing.assert_allclose(both.size_by_chance.item(), counts.mean(), rtol=1e-12)
    assert int(both["size"].item()) == 2
    np.testing.assert_allclose(both.p_by_chance.item(), (counts >= 2).mean(), rtol=1e-12)


def test_shuffled_heads_agree_no_more_than_chance():
    """Of independent selections, at most alpha have a p of at most alpha."""
    rng = np.random.default_rng(0)
    p = [
        hc.categories.in_both(
            members(rng.random((1, 6, 8)) < 0.2), members(rng.random((1, 6, 8)) < 0.3)
        ).p_by_chance.item()
        for _ in range(20)
    ]
    assert np.mean(np.array(p) <= 0.1) <= 0.1
    same = rng.random((1, 6, 8)) < 0.2
    assert (hc.categories.in_both(members(same), members(same)).p_by_chance.item()) < 1e-4


def test_categories_of_one_alone_are_named_and_the_others_kept():
    first = members(np.ones((2, 1, 2)), categories=("A", "B"))
    with pytest.warns(StatisticsWarning, match="left out: A, C"):
        both = hc.categories.in_both(first, members(np.ones((2, 1, 2)), categories=("C", "B")))
    assert both.category.values.tolist() == ["B"]
    hc.overlap(both)


def test_suppressing_heads_are_joined_too():
    facilitation = np.array([[[[0.9, 0.1, 0.2]]]])
    gates = hc.categorize(gates_of(facilitation, datasets=["A"]))
    both = hc.categories.in_both(gates, gates)
    assert both.suppressing.values.tolist() == [[[-1, 1, 1]]]
    assert int(both.suppressing_size_by_chance.item()) == 1  # 2 * 2 / 3
    assert hc.overlap(both, sign="suppressing")["set"].values.tolist() == [["", "A", "A"]]


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (members(np.ones((1, 2, 2))), "different layers"),
        (members(np.ones((1, 1, 2)), categories=("Z",)), "common: A, and Z"),
        (xr.Dataset(), "takes the memberships"),
        (members(np.ones((1, 1, 2))).assign_attrs(unit="kv_group"), "judges every head"),
        (members(np.ones((1, 1, 2))).drop_vars("effect"), "`effect` is missing"),
    ],
)
def test_what_cannot_be_joined(other, message):
    with pytest.raises(DataError, match=message):
        hc.categories.in_both(members(np.ones((1, 1, 2))), other)
