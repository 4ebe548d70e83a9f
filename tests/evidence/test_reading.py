"""The verdict: declared once, in words that hold the numbers."""

import numpy as np
import pytest
from damages import damage, heads, trial
from hypothesis import given
from hypothesis import strategies as st

from headcats.evidence.reading import FALLS, LEAST_CONTROLS, OPEN, STANDS, sentences, verdict, verdicts
from headcats.evidence.specificity import specificity


def row(*, own: float, elsewhere: float, controls: int, reaching: int, noise: float = 0.0, matched: str = "layers"):
    """A category whose heads cost its own task `own` and others `elsewhere`; `reaching` controls are as specific."""
    sets = [heads(f"L1H{number}") for number in range(controls)]
    of_heads = trial(["L0H0"], [map(str, one) for one in sets])
    for name in ("matched",):
        object.__setattr__(of_heads.controls, name, matched)
    none = trial((), why="the rule calls no head of it (3 undecided)")
    good = set(sets[:reaching])

    def cost(task, one):
        if one == heads("L0H0"):
            return own if task == "a" else elsewhere
        return 1.0 if one in good and task == "a" else 0.0

    measured = {
        task: damage(task, task.upper(), lambda one, task=task: cost(task, one), [heads("L0H0"), *sets])
        for task in ("a", "b")
    }
    measured["a"].drop[:] += noise * np.random.default_rng(0).standard_normal((len(measured["a"].drop), 1))
    designed = {task: {"A": of_heads, "B": none} for task in measured}
    return specificity(designed, measured, categories=("A", "B"), seed=0)


def test_it_stands():
    table = row(own=0.6, elsewhere=0.1, controls=19, reaching=0)
    assert verdicts(table).values.tolist() == [STANDS, OPEN]
    first, second = sentences(table, asked=19)
    assert first == (
        "A stands: its heads damage its tasks by 0.60 of the gap and those of other categories by 0.10, a difference "
        "of 0.50; 0 of 19 random sets of the same layers are at least as specific (p = 0.05)."
    )
    assert second == "B cannot be decided: the rule calls no head of it (3 undecided)."


def test_it_does_not_stand():
    table = row(own=0.2, elsewhere=0.1, controls=100, reaching=34)
    assert verdict(table.sel(category="A")) == FALLS
    assert sentences(table, asked=100)[0].startswith("A does not stand: its heads damage its tasks by 0.20")
    assert (
        "34 of 100 random sets of the same layers are at least as specific (p = 0.35)" in sentences(table, asked=100)[0]
    )


def test_eighteen_controls_are_one_too_few():
    table = row(own=0.6, elsewhere=0.1, controls=18, reaching=0)
    assert verdict(table.sel(category="A")) == OPEN
    assert "but with 18 random sets of the same layers p cannot fall to 0.05" in sentences(table, asked=100)[0]


def test_fewer_controls_than_asked_for_are_named():
    said = sentences(row(own=0.6, elsewhere=0.1, controls=30, reaching=0), asked=100)[0]
    assert "(p = 0.032; only 30 of the 100 sets asked for exist)" in said


def test_a_difference_that_is_not_told_from_zero_does_not_stand():
    table = row(own=0.11, elsewhere=0.1, controls=19, reaching=0, noise=1.0)
    assert table["specificity_low"].sel(category="A") < 0
    table["specificity_p"].loc[{"category": "A"}] = 0.05
    assert verdict(table.sel(category="A")) == FALLS
    assert "but the difference is not clearly above 0 (95 % interval" in sentences(table, asked=19)[0]


def test_sets_matched_by_thirds_are_said():
    said = sentences(row(own=0.6, elsewhere=0.1, controls=19, reaching=0, matched="thirds"), asked=19)[0]
    assert "random sets of the same thirds of the layers (no others exist for some sets)" in said


def test_exclusive_heads_are_called_so():
    said = sentences(row(own=0.6, elsewhere=0.1, controls=19, reaching=0), asked=19, exclusive=True)
    assert said[0].startswith("A stands: its own heads (in no other category) damage its tasks")
    assert said[1].startswith("B cannot be decided by its own heads (in no other category): ")


@given(st.integers(0, 60), st.integers(0, 60))
def test_the_rule_is_p_and_the_number_of_controls(controls, reaching):
    table = row(own=0.6, elsewhere=0.1, controls=controls, reaching=min(reaching, controls)).sel(category="A")
    p = (1 + min(reaching, controls)) / (1 + controls)
    expected = OPEN if controls < LEAST_CONTROLS else STANDS if p <= 0.05 else FALLS
    assert verdict(table) == expected


@pytest.mark.parametrize("asked", [19, 100])
def test_every_category_has_a_sentence(asked):
    table = row(own=0.6, elsewhere=0.1, controls=19, reaching=0)
    assert [one.split()[0] for one in sentences(table, asked=asked)] == ["A", "B"]
