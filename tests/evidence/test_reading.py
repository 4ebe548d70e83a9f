"""The verdict: declared once, in words that hold the numbers."""

import numpy as np
import pytest
import xarray as xr
from damages import damage, heads, trial
from hypothesis import given
from hypothesis import strategies as st

from headcats.evidence.reading import (
    FALLS,
    LEAST_CONTROLS,
    OPEN,
    STANDS,
    multiplicity_sentences,
    redundancy_sentences,
    sentences,
    share,
    verdict,
    verdicts,
)
from headcats.evidence.specificity import specificity


def row(
    *,
    own: float = 0.6,
    elsewhere: float = 0.1,
    relabelled: int = 19,
    as_specific: int = 0,
    controls: int = 19,
    reaching: int = 0,
    noise: float = 0.0,
    matched: str = "layers",
    keeping: int = 0,
):
    """A category whose heads cost its own task `own` and others `elsewhere`; `reaching` controls and `as_specific`
    relabellings are as specific, and the first `keeping` of these keep its head."""
    disjoint = [heads(f"L1H{number}") for number in range(controls)]
    images = [heads(*["L0H0"][: number < keeping], f"L2H{number}") for number in range(relabelled)]
    of_heads = trial(["L0H0"], [map(str, one) for one in disjoint], [map(str, one) for one in images])
    object.__setattr__(of_heads.controls, "matched", matched)
    none = trial((), why="the rule calls no head of it (3 undecided)")
    good = {*disjoint[:reaching], *images[:as_specific]}

    def cost(task, one):
        if one == heads("L0H0"):
            return own if task == "a" else elsewhere
        return 1.0 if one in good and task == "a" else 0.0

    measured = {
        task: damage(task, task.upper(), lambda one, task=task: cost(task, one), [heads("L0H0"), *disjoint, *images])
        for task in ("a", "b")
    }
    measured["a"].drop[:] += noise * np.random.default_rng(0).standard_normal((len(measured["a"].drop), 1))
    designed = {task: {"A": of_heads, "B": none} for task in measured}
    return specificity(designed, measured, categories=("A", "B"), seed=0)


def test_it_stands():
    table = row()
    assert verdicts(table).values.tolist() == [STANDS, OPEN]
    first, second = sentences(table, asked=19)
    assert first == (
        "A stands: its heads damage its tasks by 0.60 of the gap and those of other categories by 0.10, a difference "
        "of 0.50; 0 of 19 relabellings within layers are at least as specific (exact p = 0.05), and 0 of 19 random "
        "sets of the same layers without them (p = 0.05)."
    )
    assert second == "B cannot be decided: the rule calls no head of it (3 undecided)."


def test_relabellings_that_keep_some_heads_leave_it_open():
    table = row(relabelled=100, as_specific=34, keeping=34)
    assert table["specificity_p"].sel(category="A") == 0.05
    assert verdict(table.sel(category="A")) == OPEN
    said = sentences(table, asked=100)[0]
    assert said.startswith("A cannot be decided: its heads damage its tasks by 0.60")
    assert "34 of 100 relabellings within layers are at least as specific (exact p = 0.35), and 0 of 19" in said
    assert "of the 66 relabellings without any of its heads 0 reach as much, of those that keep some 34: few" in said
    all_keep = sentences(row(relabelled=24, as_specific=3, keeping=24), asked=24)[0]
    assert "; every relabelling keeps some of its heads: few heads per layer may be all that raises p." in all_keep


def test_relabellings_without_its_heads_contradict_the_random_sets():
    said = sentences(row(relabelled=100, as_specific=34, keeping=31), asked=100)[0]
    assert said.startswith("A cannot be decided")
    assert "of the 69 relabellings without any of its heads 3 reach as much, of those that keep some 31: few" in said
    said = sentences(row(relabelled=100, as_specific=34, keeping=30), asked=100)[0]
    assert "of the 70 relabellings without any of its heads 4 reach as much, so the two tests contradict each" in said


def test_heads_that_matter_more_elsewhere_are_told():
    said = sentences(row(own=0.2, elsewhere=0.5), asked=19)[0]
    assert " They damage B (0.50) more than A itself." in said
    for own, elsewhere in ((0.2, 0.21), (0.5, 0.2), (-0.3, -0.1), (-0.3, 0.01)):
        assert "more than A itself" not in sentences(row(own=own, elsewhere=elsewhere), asked=19)[0]


def test_one_relabelling_is_one():
    said = sentences(row(relabelled=24, as_specific=1, keeping=1), asked=24)[0]
    assert "1 of 24 relabellings within layers is at least as specific (exact p = 0.08)" in said


def test_relabellings_decide_against_it_where_disjoint_sets_do_not_speak_for_it():
    assert verdict(row(relabelled=100, as_specific=34, controls=18).sel(category="A")) == FALLS
    assert verdict(row(relabelled=100, as_specific=34, controls=40, reaching=9).sel(category="A")) == FALLS


def test_disjoint_sets_can_take_the_verdict_away_where_there_are_enough():
    assert verdict(row(controls=19, reaching=1).sel(category="A")) == FALLS
    few = row(controls=18, reaching=18)
    assert verdict(few.sel(category="A")) == STANDS
    assert "18 of 18 random sets of the same layers without them (p = 1; only 18" in sentences(few, asked=19)[0]
    assert "), too few to count." in sentences(few, asked=19)[0]
    assert "and no random set without them exists." in sentences(row(controls=0), asked=19)[0]


@pytest.mark.parametrize(("n", "counted"), [(18, "18 relabellings"), (1, "1 relabelling")])
def test_eighteen_relabellings_are_one_too_few(n, counted):
    table = row(relabelled=n, controls=100)
    assert verdict(table.sel(category="A")) == OPEN
    said = sentences(table, asked=100)[0]
    assert f"but with {counted} within layers p cannot fall to 0.05; only {n} of the 100 asked for exist." in said


def test_fewer_sets_than_asked_for_are_named():
    said = sentences(row(relabelled=63, controls=30), asked=100)[0]
    assert "(exact p = 0.016; only 63 of the 100 asked for exist)" in said
    assert "(p = 0.032; only 30 of the 100 asked for exist)" in said


def test_a_difference_that_is_not_told_from_zero_does_not_stand():
    table = row(own=0.11, noise=1.0)
    assert table["specificity_low"].sel(category="A") < 0
    for name in ("specificity_p", "specificity_exact_p"):
        table[name].loc[{"category": "A"}] = 0.05
    assert verdict(table.sel(category="A")) == FALLS
    assert "but the difference is not clearly above 0 (95 % interval" in sentences(table, asked=19)[0]


def test_sets_matched_by_thirds_are_said():
    said = sentences(row(matched="thirds"), asked=19)[0]
    assert "random sets of the same thirds of the layers (no others exist for some sets)" in said


def test_exclusive_heads_are_called_so():
    said = sentences(row(), asked=19, exclusive=True)
    assert said[0].startswith("A stands: its own heads (in no other category) damage its tasks")
    assert said[1].startswith("B cannot be decided by its own heads (in no other category): ")


def test_one_reason_is_said_once():
    none = trial((), why="the rule calls no head of it")
    measured = {task: damage(task, task.upper(), lambda one: 0.5, [heads("L0H0")]) for task in ("a", "b")}
    table = specificity({task: {"A": none, "B": none} for task in measured}, measured, categories=("A", "B"), seed=0)
    said = "A and B cannot be decided, each for the same reason: the rule calls no head of it."
    assert sentences(table, asked=19) == [said]
    assert sentences(table, asked=19, exclusive=True, beside=table) == []


def test_what_holds_for_the_same_heads_is_said_once():
    table = row()
    assert sentences(table, asked=19, exclusive=True, beside=table) == [
        "A: none of its tested heads is in another category, so the same holds for these."
    ]


def test_the_rival_is_no_part_of_the_verdict_and_may_do_more():
    table = row()
    for name, value in (
        ("rival_damage", 0.8), ("advantage", -0.2), ("advantage_low", -0.3), ("advantage_high", -0.1),
        ("rival_n_tasks", 1),
    ):  # fmt: skip
        table[name].loc[{"category": "A"}] = value
    table["rival"] = ("category", ["B", ""])
    said = sentences(table, asked=19)[0]
    assert said.endswith(
        " No part of the verdict: heads of B damage these tasks by 0.80, its own by 0.20 less (0.10 to 0.30)."
    )
    assert said.startswith("A stands")
    table["rival_n_tasks"][:] = 0
    assert "heads of B damage 0 of these 1 tasks by 0.80" in sentences(table, asked=19)[0]


def test_tasks_without_heads_are_counted():
    own, none = trial(["L0H0"]), trial((), why="none")
    measured = {task: damage(task, task[0].upper(), lambda one: 0.5, [heads("L0H0")]) for task in ("a1", "a2", "b1")}
    designed = {task: {"A": none if task == "a2" else own, "B": none} for task in measured}
    said = sentences(specificity(designed, measured, categories=("A", "B"), seed=0), asked=19)[0]
    assert (
        "its heads damage its tasks (known on 1 of 2 tasks) by 0.50 of the gap and those of other categories by" in said
    )


@given(*[st.integers(0, 60)] * 4)
def test_the_rule_is_both_p_and_their_numbers(relabelled, as_specific, controls, reaching):
    as_specific, reaching = min(as_specific, relabelled), min(reaching, controls)
    table = row(relabelled=relabelled, as_specific=as_specific, controls=controls, reaching=reaching)
    exact, p = (1 + as_specific) / (1 + relabelled), (1 + reaching) / (1 + controls)
    enough = controls >= LEAST_CONTROLS
    if relabelled < LEAST_CONTROLS:
        expected = OPEN
    elif enough and p > 0.05:
        expected = FALLS
    elif exact <= 0.05:
        expected = STANDS
    else:
        expected = OPEN if enough else FALLS
    assert verdict(table.sel(category="A")) == expected


@pytest.mark.parametrize("asked", [19, 100])
def test_every_category_has_a_sentence(asked):
    assert [one.split()[0] for one in sentences(row(), asked=asked)] == ["A", "B"]


def test_verdicts_are_counted():
    table = row().assign(verdict=verdicts)
    assert multiplicity_sentences(table)[0].startswith("1 verdict was made (`stands` or `does not stand`) at 0.05 each")
    assert multiplicity_sentences(table, table)[0].startswith(
        "2 verdicts were made (`stands` or `does not stand`) at 0.05 each"
    )
    assert multiplicity_sentences(table.isel(category=[1])) == []


def test_redundancy_in_words():
    table = xr.Dataset(
        {
            "joint": ("category", [0.22, 0.061, 0.1, np.nan, 0.3]),
            "sum_of_single": ("category", [0.001, 0.055, 0.3, np.nan, 0.3]),
            "head": (("category", "place"), [["L0H0", "L1H0"]] * 3 + [["", ""], ["L0H0", ""]]),
        },
        coords={"category": list("ABCDE")},
    )
    first, second, third = redundancy_sentences(table)
    assert first == (
        "A: single damages of its heads sum to 0.001 of the gap, all at once cost 0.22; joint damage is far larger, a "
        "sign that its heads stand in for each other."
    )
    assert second.endswith("sum to 0.055 of the gap, all at once cost 0.061; joint damage is about the sum.")
    assert third.startswith("C: ")
    assert third.endswith("joint damage is far smaller, a sign that its heads depend on each other.")


@pytest.mark.parametrize(("joint", "summed"), [(-0.5, -0.53), (-0.5, -0.3), (-0.01, 0.005)])
def test_damages_below_zero_are_no_sign_of_anything(joint, summed):
    table = xr.Dataset(
        {"joint": ("category", [joint]), "sum_of_single": ("category", [summed]),
         "head": (("category", "place"), [["L0H0", "L1H0"]])},
        coords={"category": ["A"]},
    )  # fmt: skip
    assert "a sign that" not in redundancy_sentences(table)[0]


def test_small_shares_keep_a_third_decimal():
    assert [share(value) for value in (0.5, 0.1, 0.0996, -0.0004, -0.25, 0.0126)] == [
        "0.50", "0.10", "0.10", "0.000", "-0.25", "0.013",
    ]  # fmt: skip
