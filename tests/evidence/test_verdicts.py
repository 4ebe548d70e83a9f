"""Verdicts: one declared rule, and sentences that hold its numbers."""

from functools import partial

import numpy as np
import pytest
import xarray as xr
from damages import damage, heads, trial
from hypothesis import given
from hypothesis import strategies as st

from headcats.evidence.sentences import multiplicity_sentences, redundancy_sentences, sentences
from headcats.evidence.specificity import specificity
from headcats.evidence.verdicts import (
    INCONCLUSIVE,
    LEAST_CONTROLS,
    NOT_SUPPORTED,
    SUPPORTED,
    in_current_words,
    share,
    verdict,
    verdicts,
)


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
    tested = trial(["L0H0"], [map(str, members) for members in disjoint], [map(str, members) for members in images])
    object.__setattr__(tested.controls, "matched", matched)
    none = trial((), reason="the rule calls no head of it (3 undecided)")
    good = {*disjoint[:reaching], *images[:as_specific]}

    def cost(task, members):
        if members == heads("L0H0"):
            return own if task == "a" else elsewhere
        return 1.0 if members in good and task == "a" else 0.0

    measured = {
        task: damage(task, task.upper(), partial(cost, task), [heads("L0H0"), *disjoint, *images])
        for task in ("a", "b")
    }
    measured["a"].drop[:] += noise * np.random.default_rng(0).standard_normal((len(measured["a"].drop), 1))
    designed = {task: {"A": tested, "B": none} for task in measured}
    return specificity(designed, measured, categories=("A", "B"), seed=0)


def line_of_a(n_asked=19, **options) -> str:
    """The sentences on category A."""
    return sentences(row(**options), n_asked=n_asked)[0]


def verdict_on_a(**options) -> str:
    return verdict(row(**options).sel(category="A"))


def test_supported():
    table = row()
    assert verdicts(table).values.tolist() == [SUPPORTED, INCONCLUSIVE]
    first, second = sentences(table, n_asked=19)
    for part in (
        "A: supported.",
        "by 0.60",
        "by 0.10",
        "of 0.50",
        "0 of 19 relabellings",
        "exact p = 0.05",
        "(p = 0.05)",
    ):
        assert part in first
    assert second.startswith("B: inconclusive because")
    assert "(3 undecided)" in second


def test_relabellings_that_keep_some_heads_are_inconclusive():
    options = {"relabelled": 100, "as_specific": 34, "keeping": 34}
    assert row(**options)["specificity_p"].sel(category="A") == 0.05
    assert verdict_on_a(**options) == INCONCLUSIVE
    line = line_of_a(100, **options)
    for part in ("A: inconclusive.", "34 of 100", "exact p = 0.35", "0 of 19", "the 66 relabellings", "keep some 34"):
        assert part in line
    assert "every relabelling keeps" in line_of_a(24, relabelled=24, as_specific=3, keeping=24)


@pytest.mark.parametrize(("keeping", "n_apart", "reaching", "contradicts"), [(31, 69, 3, False), (30, 70, 4, True)])
def test_relabellings_without_its_heads_may_contradict_the_random_sets(keeping, n_apart, reaching, contradicts):
    line = line_of_a(100, relabelled=100, as_specific=34, keeping=keeping)
    assert line.startswith("A: inconclusive.")
    assert f"the {n_apart} relabellings" in line
    assert f"heads {reaching} reach" in line
    assert ("contradict each other" in line) == contradicts
    assert (f"keep some {keeping}" in line) != contradicts


def test_heads_that_matter_more_elsewhere_are_named():
    assert "They damage B (0.50)" in line_of_a(own=0.2, elsewhere=0.5)
    for own, elsewhere in ((0.2, 0.21), (0.5, 0.2), (-0.3, -0.1), (-0.3, 0.01)):
        assert "They damage" not in line_of_a(own=own, elsewhere=elsewhere)


def test_one_relabelling_is_singular():
    line = line_of_a(24, relabelled=24, as_specific=1, keeping=1)
    assert "1 of 24" in line
    assert "is at least" in line
    assert "p = 0.08" in line


def test_relabellings_decide_against_it_where_disjoint_sets_do_not_speak_for_it():
    assert verdict_on_a(relabelled=100, as_specific=34, controls=18) == NOT_SUPPORTED
    assert verdict_on_a(relabelled=100, as_specific=34, controls=40, reaching=9) == NOT_SUPPORTED


def test_disjoint_sets_count_where_there_are_enough():
    assert verdict_on_a(controls=19, reaching=1) == NOT_SUPPORTED
    few = {"controls": 18, "reaching": 18}
    assert verdict_on_a(**few) == SUPPORTED
    for part in ("18 of 18", "p = 1; only 18", "too few to count"):
        assert part in line_of_a(**few)
    assert "no random set" in line_of_a(controls=0)


@pytest.mark.parametrize(("n", "counted"), [(18, "18 relabellings"), (1, "1 relabelling")])
def test_eighteen_relabellings_are_one_too_few(n, counted):
    assert verdict_on_a(relabelled=n, controls=100) == INCONCLUSIVE
    line = line_of_a(100, relabelled=n, controls=100)
    assert f"{counted} within layers" in line
    assert f"only {n} of the 100" in line


def test_missing_sets_are_counted():
    line = line_of_a(100, relabelled=63, controls=30)
    assert "exact p = 0.016; only 63" in line
    assert "(p = 0.032; only 30" in line


def test_a_difference_that_is_not_told_from_zero_is_not_supported():
    table = row(own=0.11, noise=1.0)
    assert table["specificity_low"].sel(category="A") < 0
    for name in ("specificity_p", "specificity_exact_p"):
        table[name].loc[{"category": "A"}] = 0.05
    assert verdict(table.sel(category="A")) == NOT_SUPPORTED
    assert "(95 % interval" in sentences(table, n_asked=19)[0]


def test_sets_matched_by_thirds_are_marked():
    assert "same thirds" in line_of_a(matched="thirds")


def test_exclusive_heads_are_named_so():
    first, second = sentences(row(), n_asked=19, exclusive=True)
    assert first.startswith("A: supported. Its own")
    assert second.startswith("B: inconclusive by heads")


def test_a_shared_reason_is_given_once():
    none = trial((), reason="the rule calls no head of it")
    measured = {task: damage(task, task.upper(), lambda members: 0.5, [heads("L0H0")]) for task in ("a", "b")}
    table = specificity({task: {"A": none, "B": none} for task in measured}, measured, categories=("A", "B"), seed=0)
    (line,) = sentences(table, n_asked=19)
    assert line.startswith("A and B: inconclusive, each")
    assert sentences(table, n_asked=19, exclusive=True, beside=table) == []


def test_the_same_heads_are_not_told_twice():
    table = row()
    (line,) = sentences(table, n_asked=19, exclusive=True, beside=table)
    assert line.startswith("A: none")
    assert "0.60" not in line


def test_the_rival_may_do_more_and_changes_no_verdict():
    table = row()
    for name, value in (
        ("rival_damage", 0.8), ("advantage", -0.2), ("advantage_low", -0.3), ("advantage_high", -0.1),
        ("rival_n_tasks", 1),
    ):  # fmt: skip
        table[name].loc[{"category": "A"}] = value
    table["rival"] = ("category", ["B", ""])
    line = sentences(table, n_asked=19)[0]
    assert line.startswith("A: supported.")
    for part in ("heads of B", "these tasks by 0.80", "0.20 less (0.10 to 0.30)"):
        assert part in line
    table["rival_n_tasks"][:] = 0
    assert "0 of these 1 tasks" in sentences(table, n_asked=19)[0]


def test_tasks_without_heads_are_counted():
    own, none = trial(["L0H0"]), trial((), reason="none")
    measured = {
        task: damage(task, task[0].upper(), lambda members: 0.5, [heads("L0H0")]) for task in ("a1", "a2", "b1")
    }
    designed = {task: {"A": none if task == "a2" else own, "B": none} for task in measured}
    table = specificity(designed, measured, categories=("A", "B"), seed=0)
    assert "1 of 2 tasks" in sentences(table, n_asked=19)[0]


@given(*[st.integers(0, 60)] * 4)
def test_the_rule_is_both_p_and_their_numbers(relabelled, as_specific, controls, reaching):
    as_specific, reaching = min(as_specific, relabelled), min(reaching, controls)
    table = row(relabelled=relabelled, as_specific=as_specific, controls=controls, reaching=reaching)
    exact, p = (1 + as_specific) / (1 + relabelled), (1 + reaching) / (1 + controls)
    enough = controls >= LEAST_CONTROLS
    if relabelled < LEAST_CONTROLS:
        expected = INCONCLUSIVE
    elif enough and p > 0.05:
        expected = NOT_SUPPORTED
    elif exact <= 0.05:
        expected = SUPPORTED
    else:
        expected = INCONCLUSIVE if enough else NOT_SUPPORTED
    assert verdict(table.sel(category="A")) == expected


@pytest.mark.parametrize("n_asked", [19, 100])
def test_every_category_has_a_sentence(n_asked):
    assert [line[:2] for line in sentences(row(), n_asked=n_asked)] == ["A:", "B:"]


def test_verdicts_are_counted():
    table = row().assign(verdict=verdicts)
    assert multiplicity_sentences(table)[0].startswith("1 verdict ")
    assert multiplicity_sentences(table, table)[0].startswith("2 verdicts ")
    assert multiplicity_sentences(table.isel(category=[1])) == []


def test_older_files_are_read_in_current_words():
    reading = "A stands: 0.60.\nB does not stand: 0.\nC cannot be decided by heads.\n(`stands` or `does not stand`)"
    stored = xr.Dataset(
        {"verdict": ("category", ["stands", "does not stand", "cannot be decided", SUPPORTED])},
        attrs={"reading": reading},
    )
    table = in_current_words(stored)
    assert table["verdict"].values.tolist() == [SUPPORTED, NOT_SUPPORTED, INCONCLUSIVE, SUPPORTED]
    first, second, third, last = table.attrs["reading"].splitlines()
    assert first == "A: supported: 0.60."
    assert second.startswith("B: not supported")
    assert third.startswith("C: inconclusive by")
    assert "stand" not in last
    assert in_current_words(table).identical(table)
    assert in_current_words(xr.Dataset(attrs={"kind": "other"})).attrs == {"kind": "other"}


def test_joint_damage_is_compared_with_the_sum_of_single_ones():
    table = xr.Dataset(
        {
            "joint": ("category", [0.22, 0.061, 0.1, np.nan, 0.3]),
            "sum_of_single": ("category", [0.001, 0.055, 0.3, np.nan, 0.3]),
            "head": (("category", "place"), [["L0H0", "L1H0"]] * 3 + [["", ""], ["L0H0", ""]]),
        },
        coords={"category": list("ABCDE")},
    )
    lines = redundancy_sentences(table)
    assert [line[:2] for line in lines] == ["A:", "B:", "C:"]
    for line, numbers, comparison in zip(
        lines,
        [("0.001", "0.22"), ("0.055", "0.061"), ("0.30", "0.10")],
        ["far more", "the sum", "far less"],
        strict=True,
    ):
        assert all(number in line for number in numbers)
        assert comparison in line


@pytest.mark.parametrize(("joint", "summed"), [(-0.5, -0.53), (-0.5, -0.3), (-0.01, 0.005)])
def test_damages_below_zero_are_no_sign_of_anything(joint, summed):
    table = xr.Dataset(
        {"joint": ("category", [joint]), "sum_of_single": ("category", [summed]),
         "head": (("category", "place"), [["L0H0", "L1H0"]])},
        coords={"category": ["A"]},
    )  # fmt: skip
    assert "sign" not in redundancy_sentences(table)[0]


def test_small_shares_keep_a_third_decimal():
    assert [share(value) for value in (0.5, 0.1, 0.0996, -0.0004, -0.25, 0.0126)] == [
        "0.50", "0.10", "0.10", "0.000", "-0.25", "0.013",
    ]  # fmt: skip
