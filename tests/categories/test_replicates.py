"""Memberships of several runs as one."""

import itertools

import numpy as np
import pytest
import xarray as xr

from headcats.base.errors import DataError, OptionError
from headcats.categories.membership import head_table
from headcats.categories.replicates import replicated
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
    with pytest.raises(DataError, match="another head axis"):
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
