"""What runs differ in; which memberships all of them have, which move, and how sure that is."""

import json

import numpy as np
import pytest
import xarray as xr

from headcats.categories.outcome import IN, NOT_JUDGED, OUT, UNDECIDED
from headcats.evidence.comparison.runs import Runs
from headcats.reports.text.comparison import (
    Membership,
    agreeing,
    effect_text,
    how_sure,
    memberships,
    plan_findings,
    sureness,
)
from headcats.results.finding import line
from headcats.results.run_results import RunResults


def results(*tasks, **plan):
    made = xr.DataTree.from_dict({f"/{task}/denoising_patch@last": xr.Dataset() for task in tasks})
    made.attrs["manifest"] = json.dumps({"plan": plan, "model": {"name": "m"}, "methods": ["denoising_patch@last"]})
    return RunResults(made)


def test_values_stay_what_they_are():
    two = Runs({"a": results("x", seed=0, n_demos=4), "b": results("x", "y", seed=1, n_demos=5)})
    assert two.differences == {"plan seed": [0, 1], "plan n_demos": [4, 5], "tasks": [["x"], ["x", "y"]]}
    (table,) = plan_findings(two)
    assert table.rows == (("plan n_demos", "4", "5"), ("plan seed", "0", "1"), ("tasks", "1, without y", "2"))


def test_runs_of_one_plan_differ_in_nothing():
    same = Runs({"a": results("x", seed=0), "b": results("x", seed=0)})
    assert same.differences == {}
    assert list(plan_findings(same)) == [line("plans.same")]


SHAPE = (2, 2)


def overlap_of(*, probability=1.0, **members):
    """Category -> verdict of every head, layer by layer: 1 in, 0 undecided, -1 out, None without a number."""
    verdicts = {name: np.array(values, dtype=float).reshape(SHAPE) for name, values in members.items()}
    member = xr.DataArray(
        np.stack(list(verdicts.values())),
        dims=("category", "layer", "head"),
        coords={"category": list(verdicts), "layer": [0, 1], "head": [0, 1]},
    )
    places = np.arange(4).reshape(SHAPE)
    effect = (0.1 + 0.1 * xr.DataArray(places, dims=("layer", "head"))) * (1 + 0 * member)
    return xr.Dataset(
        {
            "member": member.fillna(0).astype(int),
            "undecided": member.fillna(0) == 0,
            "effect": effect.where(member.notnull()),
            "probability": member.fillna(0) * 0 + probability,
        }
    )


A = overlap_of(Knowledge=(1, 1, 1, -1), Translation=(1, -1, -1, -1))
B = overlap_of(Knowledge=(1, 0, -1, None), Translation=(None, None, None, None), probability=0.5)


def test_verdicts_of_every_head_that_any_run_has():
    found = memberships({"a": A, "b": B})
    assert [(each.head, each.category) for each in found] == [
        ("L1H0", "Knowledge"), ("L0H1", "Knowledge"), ("L0H0", "Knowledge"), ("L0H0", "Translation"),
    ]  # fmt: skip
    assert [each.verdicts for each in found] == [
        {"a": IN, "b": OUT}, {"a": IN, "b": UNDECIDED}, {"a": IN, "b": IN}, {"a": IN, "b": NOT_JUDGED},
    ]  # fmt: skip
    assert [each.moves for each in found] == [True, True, False, False]
    assert [each.is_decided for each in found] == [True, False, False, False]
    assert found[0].effects == pytest.approx({"a": 0.3, "b": 0.3})
    assert [effect_text(found[0], "a"), effect_text(found[0], "b")] == ["0.300 in (100%)", "0.300 out"]
    assert effect_text(found[3], "b") == "-"


def test_categories_that_a_run_lacks_are_left_out():
    found = memberships({"a": A, "b": B.sel(category=["Knowledge"])})
    assert {each.category for each in found} == {"Knowledge"}


def test_what_agrees_and_what_moves():
    found = memberships({"a": A, "b": B})
    same, unjudged, decided, undecided = agreeing(found, n_runs=2)
    assert (same.fields["same"], same.fields["n"]) == (1, 3)  # the fourth was not judged by one of them
    assert (unjudged.id, unjudged.fields) == ("several.unjudged", {"n": 1})
    assert [str(head) for head in decided.fields["heads"]] == ["L1H0 (Knowledge)"]
    assert decided.id == "several.moving_decided"
    assert [str(head) for head in undecided.fields["heads"]] == ["L0H1 (Knowledge)"]
    assert undecided.id == "several.moving_open"
    assert [finding.id for finding in agreeing([], n_runs=2)] == ["several.none"]
    assert [finding.id for finding in agreeing(found[3:], n_runs=2)] == ["several.unjudged"]


def test_many_that_move_are_counted():
    moving = [membership(verdicts={"a": IN, "b": OUT})] * 4
    _, decided = agreeing(moving, n_runs=2)
    assert [head.fields for head in decided.fields["heads"]] == [{"n": 4}]


def membership(**fields):
    usual = {"verdicts": {"a": IN, "b": OUT}, "effects": {}, "probabilities": {}}
    return Membership("L0H0", "Knowledge", **{**usual, **fields})


def test_how_sure_a_move_is():
    in_and_out = how_sure(membership())
    none, one, two = (how_sure(membership(n_changes=n, n_found=found)) for n, found in ((1, 0), (1, 1), (3, 2)))
    assert none == f"{in_and_out}, no difference found"
    assert one == f"{in_and_out}, a difference found"
    assert two.startswith(f"{one} in 2 of 3")
    assert "undecided" in how_sure(membership(verdicts={"a": IN, "b": UNDECIDED}))
    assert how_sure(membership(verdicts={"a": IN, "b": IN})) == ""


def changes_of(*, n_compared, change, found):
    dims = ("revision", "category", "layer", "head")
    return xr.Dataset(
        {
            "n_compared": (dims[:2], [[0], [n_compared]]),
            "change": (dims, np.array([0, change]).reshape(2, 1, 1, 1)),
            "change_found": (dims, np.array([False, found]).reshape(2, 1, 1, 1)),
            "difference_p": (dims, np.array([np.nan, 0.01]).reshape(2, 1, 1, 1)),
        },
        coords={"revision": ["a", "b"], "category": ["Knowledge"], "layer": [0], "head": [0]},
        attrs={"alpha": 0.05},
    )


def test_changes_of_a_call_beside_differences_that_are_found():
    tested = sureness(changes_of(n_compared=2, change=-1, found=True))
    assert (tested.id, tested.fields) == ("several.tested", {"calls": 1, "found": 1, "alpha": 0.05})
    assert sureness(changes_of(n_compared=0, change=-1, found=False)).id == "several.no_test"
