"""Memberships of several runs, and heads that two ways of judging agree on."""

import itertools

import numpy as np
import pytest
import xarray as xr
from example_joint import gates_of
from memberships import memberships

import headcats as hc
from headcats.base.errors import DataError, OptionError, StatisticsWarning
from headcats.categories.combined import replicated
from headcats.categories.membership import head_table
from headcats.categories.shared import overlap

DIMS = ("category", "layer", "head")


def members_of(member: list[list[int]], *, effect: object = 0.5, suppressing: object = -1) -> xr.Dataset:
    member = np.asarray(member, dtype=np.int8)[:, None]
    shape = member.shape
    effect = np.broadcast_to(np.asarray(effect, dtype=float), shape)
    data = {"member": member, "suppressing": np.broadcast_to(np.int8(suppressing), shape)}
    for prefix, sign in (("", 1.0), ("suppressing_", -1.0)):
        data |= {f"{prefix}{name}": sign * effect + shift for name, shift in (("effect", 0), ("low", -1), ("high", 1))}
        data |= {f"{prefix}{name}": np.full(shape, 0.01) for name in ("p_value", "q_value")}
        data[f"{prefix}tasks"] = np.where(member == 1, "a,b", "").astype(str)
    coords = {"category": ["Knowledge", "Linguistic"][: len(member)], "layer": [0], "head": np.arange(shape[2])}
    counts = {name: ("category", [2] * len(member)) for name in ("n_tasks", "min_tasks")}
    return xr.Dataset({k: (DIMS, v) for k, v in data.items()} | counts, coords=coords, attrs={"categories": "[]"})


RUNS = {
    "seed 0": members_of([[1, 1, 0, -1]]),
    "seed 1": members_of([[1, -1, 1, -1]]),
    "seed 2": members_of([[1, 1, 0, -1]]),
}


@pytest.mark.parametrize(
    ("by", "expected"),
    [
        ("any", [1, 1, 1, -1]),
        ("always", [1, -1, 0, -1]),
        ("half", [1, 1, 0, -1]),
        (2 / 3, [1, 1, 0, -1]),
        (2, [1, 1, 0, -1]),
        (3, [1, -1, 0, -1]),
        (0.67, [1, -1, 0, -1]),
        (1.0, [1, -1, 0, -1]),
        (0.01, [1, 1, 1, -1]),
    ],
)
def test_verdicts_by_hand(by: str | float, expected: list[int]) -> None:
    found = replicated(RUNS, by=by)
    assert found["member"].values.ravel().tolist() == expected
    assert found["size"].item() == expected.count(1)
    np.testing.assert_allclose(found["share"].values.ravel(), [1, 2 / 3, 1 / 3, 0])
    assert (found.attrs["replicates"], found.attrs["by"]) == (3, str(by))


def test_effects_are_the_rth_largest_and_suppression_the_rth_strongest() -> None:
    runs = {name: members_of([[1, 1]], effect=value) for name, value in (("a", 0.1), ("b", 0.3), ("c", 0.2))}
    for by, value in (("any", 0.3), ("half", 0.2), ("always", 0.1)):
        found = replicated(runs, by=by)
        np.testing.assert_allclose(found["effect"], value)
        np.testing.assert_allclose(found["low"], value - 1)
        np.testing.assert_allclose(found["suppressing_effect"], -value)


def test_p_is_the_rth_smallest_in_both_directions() -> None:
    runs = {}
    for name, p in (("a", 0.3012), ("b", 0.1138), ("c", 0.3108)):
        runs[name] = members_of([[1, 1]])
        for variable in ("p_value", "q_value", "suppressing_p_value", "suppressing_q_value"):
            runs[name][variable].values[:] = p
    for by, p in (("any", 0.1138), ("half", 0.3012), ("always", 0.3108)):
        found = replicated(runs, by=by)
        for variable in ("p_value", "q_value", "suppressing_p_value", "suppressing_q_value"):
            np.testing.assert_allclose(found[variable], p)


def test_a_map_of_one_sign_is_no_run() -> None:
    members = members_of([[1, 1]])
    for run in (overlap(members, sign="suppressing"), members.drop_vars("suppressing")):
        with pytest.raises(DataError, match="Run 'b'"):
            replicated({"a": members, "b": run})
    assert replicated({"a": overlap(members)})["member"].values.tolist() == members["member"].values.tolist()
    with pytest.raises(DataError, match="suppressing heads alone"):
        overlap(overlap(members, sign="suppressing"))


def test_a_run_without_a_number_keeps_a_head_from_being_in_always() -> None:
    runs = {"a": members_of([[1]], effect=0.4), "b": members_of([[0]], effect=np.nan)}
    assert np.isnan(replicated(runs, by="always")["effect"]).all()
    assert replicated(runs, by="any")["effect"].item() == 0.4
    assert replicated(runs, by="always")["member"].item() == 0


def test_the_result_goes_on_to_overlap_and_list() -> None:
    runs = {"a": members_of([[1, 1], [1, 0]]), "b": members_of([[1, 0], [1, 1]])}
    found = replicated(runs, by="always")
    assert overlap(found)["set"].values.ravel().tolist() == ["Knowledge+Linguistic", "(2 undecided)"]
    assert head_table(found)["tasks"].tolist() == ["a,b", "a,b"]


@pytest.mark.parametrize("n", range(1, 5))
def test_any_holds_half_holds_always(n: int) -> None:
    every = np.array(list(itertools.product([-1, 0, 1], repeat=n)))
    runs = {str(number): members_of([verdict]) for number, verdict in enumerate(every.T)}
    ordered = [replicated(runs, by=by)["member"].values for by in ("any", "half", "always")]
    assert (ordered[0] >= ordered[1]).all()
    assert (ordered[1] >= ordered[2]).all()


def test_bad_input_is_told() -> None:
    with pytest.raises(DataError, match="one run"):
        replicated({})
    with pytest.raises(DataError, match="different heads"):
        replicated({"a": members_of([[1, 1]]), "b": members_of([[1]])})
    with pytest.raises(OptionError, match=r"by=4 .* only 3"):
        replicated(RUNS, by=4)
    with pytest.raises(OptionError, match="by=1 may mean"):
        replicated(RUNS, by=1)
    for by in (0, -2, 1.5, "most", True):
        with pytest.raises(OptionError, match="share in"):
            replicated(RUNS, by=by)


def test_heads_that_share_keys_and_values_still_do() -> None:
    number = xr.Variable(("layer", "head"), [[0, 0, 1, 1]])
    runs = {name: run.assign_coords(kv_head=number) for name, run in RUNS.items()}
    assert replicated(runs).kv_head.values.tolist() == [[0, 0, 1, 1]]
    assert "kv_head" not in replicated(RUNS).coords


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
    hc.overlap(both, draws=10)


def test_suppressing_heads_are_joined_too():
    facilitation = np.array([[[[0.9, 0.1, 0.2]]]])
    gates = hc.categorize(gates_of(facilitation, datasets=["A"]))
    both = hc.categories.in_both(gates, gates)
    assert both.suppressing.values.tolist() == [[[-1, 1, 1]]]
    assert int(both.suppressing_size_by_chance.item()) == 1  # 2 * 2 / 3
    assert hc.overlap(both, sign="suppressing", draws=10)["set"].values.tolist() == [["", "A", "A"]]


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
