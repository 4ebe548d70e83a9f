"""Specificity and its controls, by hand."""

import numpy as np
import pytest
from damages import damage, heads, trial
from hypothesis import given
from hypothesis import strategies as st

from headcats.evidence.controls import p_value
from headcats.evidence.specificity import specificity
from headcats.evidence.trials import Selection, sets_of, trials
from headcats.models.head import Head

CATEGORIES = ("A", "B", "C")
COST = {
    ("a1", "L0H0"): 0.8, ("a2", "L0H0"): 0.6, ("b1", "L0H0"): 0.1, ("c1", "L0H0"): 0.3,
    ("a1", "L0H1"): 0.2, ("a2", "L0H1"): 0.0, ("b1", "L0H1"): 0.5, ("c1", "L0H1"): 0.0,
    ("a1", "L0H2"): 0.9, ("a2", "L0H2"): 0.9, ("b1", "L0H2"): 0.0, ("c1", "L0H2"): 0.0,
    ("a1", "L0H3"): 0.1, ("a2", "L0H3"): 0.1, ("b1", "L0H3"): 0.1, ("c1", "L0H3"): 0.1,
}  # fmt: skip
TASKS = {"a1": "A", "a2": "A", "b1": "B", "c1": "C"}


def measured(tasks=TASKS):
    sets = [heads(f"L0H{number}") for number in range(4)]
    return {
        task: damage(task, category, lambda one, task=task: COST[task, str(one[0])], sets)
        for task, category in tasks.items()
    }


def table(of_a, of_b=None, of_c=None, *, tasks=TASKS):
    designed = {
        task: {"A": of_a, "B": of_b or trial((), reason="no heads"), "C": of_c or trial((), reason="no heads")}
        for task in tasks
    }
    return specificity(designed, measured(tasks), categories=CATEGORIES, seed=0)


def test_cells_and_specificity_by_hand():
    found = table(trial(["L0H0"], [["L0H1"], ["L0H2"], ["L0H3"]])).sel(category="A")
    np.testing.assert_allclose(found["damage"], [0.7, 0.1, 0.3])
    assert found["specificity"].item() == pytest.approx(0.7 - (0.1 + 0.3) / 2)
    np.testing.assert_allclose(found["control_specificity"], [0.1 - 0.25, 0.9, 0.0], atol=1e-12)
    assert found["specificity_p"].item() == (1 + 1) / 4
    # One of three sets (L0H2) costs tasks of A more than 0.7; one costs B more than 0.1, one as much.
    assert found["p"].values.tolist() == [2 / 4, 3 / 4, 1 / 4]
    assert found["specificity_n_controls"].item() == 3
    assert found["n_tasks"].values.tolist() == [2, 1, 1]
    np.testing.assert_allclose(found["control_mean"].sel(target="A"), (0.1 + 0.9 + 0.1) / 3)
    # Every prompt loses the same share, so no resample differs.
    np.testing.assert_allclose(found["low"], found["damage"])
    np.testing.assert_allclose(found["specificity_high"], found["specificity"])


def test_the_rival_is_the_category_whose_heads_do_most_damage():
    found = table(trial(["L0H0"]), trial(["L0H1"]), trial(["L0H2"], shared=1))
    assert found["rival"].values.tolist() == ["C", "A", "A"]
    np.testing.assert_allclose(found["advantage"], [0.7 - 0.9, 0.5 - 0.1, 0.0 - 0.3])
    np.testing.assert_allclose(found["rival_damage"], [0.9, 0.1, 0.3])
    assert found["rival_n_tasks"].values.tolist() == [2, 1, 1]
    assert found["shared"].sel(category="C").values.tolist() == [1] * 4


def test_the_rival_is_compared_on_the_tasks_that_both_have_heads_on():
    own, other, none = trial(["L0H0"]), trial(["L0H1"]), trial((), reason="none")
    designed = {task: {"A": own, "B": none if task == "a2" else other, "C": none} for task in TASKS}
    found = specificity(designed, measured(), categories=CATEGORIES, seed=0).sel(category="A")
    assert found["damage"].sel(target="A").item() == pytest.approx(0.7)
    assert found["rival_n_tasks"].item() == 1
    assert found["rival_damage"].item() == pytest.approx(0.2)
    assert found["advantage"].item() == pytest.approx(0.8 - 0.2)
    assert found["advantage_low"].item() == pytest.approx(0.8 - 0.2)


def test_tasks_with_fewer_controls_set_the_number():
    designed = {task: {name: trial(()) for name in CATEGORIES} for task in TASKS}
    for task, sets in (("a1", ["L0H1", "L0H2"]), ("a2", ["L0H3"]), ("b1", ["L0H1", "L0H2", "L0H3"])):
        designed[task]["A"] = trial(["L0H0"], [[one] for one in sets])
    found = specificity(designed, measured(), categories=CATEGORIES, seed=0).sel(category="A")
    assert found["n_controls"].values.tolist() == [1, 3, 0]
    assert found["specificity_n_controls"].item() == 1
    assert found["control_specificity"].dropna("control").values.tolist() == [pytest.approx((0.2 + 0.1) / 2 - 0.5)]
    # C has no trial: the mean over the other categories is that of B alone.
    assert found["specificity"].item() == pytest.approx(0.7 - 0.1)


@pytest.mark.parametrize(
    ("tasks", "why"),
    [
        ({"b1": "B", "c1": "C"}, "it has no task with held-out prompts"),
        ({"a1": "A", "a2": "A"}, "there is no other category to compare with"),
    ],
)
def test_why_there_is_no_specificity(tasks, why):
    found = table(trial(["L0H0"], [["L0H1"]]), tasks=tasks).sel(category="A")
    assert found["why"].item() == why
    assert np.isnan(found["specificity"].item())
    assert np.isnan(found["specificity_p"].item())


def test_empty_categories_have_rows_with_their_reason():
    found = table(trial(["L0H0"]))
    assert found["why"].values.tolist() == ["", "no heads", "no heads"]
    assert found["damage"].sel(category="B").isnull().all()
    assert found["heads"].sel(category="B").values.tolist() == [""] * 4
    # Without any control every p is that of the observed value alone.
    assert found["specificity_p"].sel(category="A").item() == 1.0


@given(st.lists(st.floats(-1, 1), max_size=40), st.floats(-1, 1))
def test_p_counts_the_observed_value_and_every_tie(controls, observed):
    found = p_value(observed, np.array(controls))
    assert 1 / (1 + len(controls)) <= found <= 1
    assert found == (1 + sum(one >= observed - 1e-6 for one in controls)) / (1 + len(controls))
    assert p_value(observed, np.array([*controls, observed])) >= found * (1 + len(controls)) / (2 + len(controls))


def test_p_of_nothing_is_nothing():
    assert np.isnan(p_value(float("nan"), np.array([1.0])))
    assert np.isnan(p_value(0.5, np.array([float("nan")])))


def test_trials_test_four_heads_and_exclusive_ones_only_where_asked():
    members = tuple(Head(layer, head) for layer in range(3) for head in range(3))
    selections = {
        "t": {"A": Selection(members, members[4:6]), "B": Selection(members[:1], ()), "C": Selection(reason="none")}
    }
    n_heads = dict.fromkeys(range(3), 8)
    found = trials(selections, n_heads, n=50, seed=0)["t"]
    assert found["A"].heads == members[:4]
    assert found["A"].shared == 4
    assert len(found["A"].controls.sets) == len(found["A"].relabelled) == 50
    assert found["C"].reason == "none"
    alone = trials(selections, n_heads, n=50, seed=0, exclusive=True)["t"]
    assert alone["A"].heads == members[4:6]
    assert alone["A"].shared == 0
    assert "another category" in alone["B"].reason
    needed = sets_of({"t": found}, "t")
    assert () not in needed
    assert {tuple(sorted(found["A"].heads)), *found["A"].controls.sets, *found["A"].relabelled} <= needed


def exchangeable(seed, *, n_layers=4, n_heads=8, n_tasks=3, n=39):
    """Both p of a category whose heads are like all others: every head has some effect on every category, at random.

    On each task one of its four heads is another one, as where heads are chosen without the task.
    """
    rng = np.random.default_rng(seed)
    every = [Head(layer, head) for layer in range(n_layers) for head in range(n_heads)]
    effects = {category: dict(zip(every, rng.normal(size=len(every)), strict=True)) for category in CATEGORIES}
    order = [every[place] for place in rng.permutation(len(every))[:8]]
    none = Selection(reason="none")
    selections, of = {}, {}
    for category in CATEGORIES:
        for number in range(n_tasks):
            members = list(order)
            out, back = rng.integers(4), 4 + rng.integers(4)
            if category == "A":
                members[out], members[back] = members[back], members[out]
            of[f"{category}{number}"] = category
            selections[f"{category}{number}"] = {"A": Selection(tuple(members)), "B": none, "C": none}
    designed = trials(selections, dict.fromkeys(range(n_layers), n_heads), n=n, seed=seed)
    found = {}
    for task, category in of.items():
        cost = {head: effect + 0.3 * rng.normal() for head, effect in effects[category].items()}
        found[task] = damage(
            task, category, lambda one, cost=cost: sum(cost[head] for head in one), sets_of(designed, task), n=2
        )
    row = specificity(designed, found, categories=CATEGORIES, seed=0).sel(category="A")
    return row["specificity_exact_p"].item(), row["specificity_p"].item()


@pytest.mark.ci
def test_the_exact_test_has_its_size_and_disjoint_controls_do_not(monkeypatch):
    """Exchangeable heads: at most 5 % of p may be <= .05. Of 200 that is 10, and 18 are 2.6 standard errors more."""
    monkeypatch.setattr("headcats.evidence.damage.RESAMPLES", 2)
    exact, disjoint = np.transpose([exchangeable(seed) for seed in range(200)])
    assert (exact <= 0.05).sum() <= 18
    assert (disjoint <= 0.05).sum() > 18


def test_the_k_th_relabelling_of_a_row_is_by_one_permutation():
    members = {"s": heads("L0H0", "L1H0"), "t": heads("L0H0", "L1H1"), "u": ()}
    selections = {task: {"A": Selection(own, reason="" if own else "none")} for task, own in members.items()}
    found = trials(selections, {0: 8, 1: 8}, n=30, seed=0)
    pairs = list(zip(found["s"]["A"].relabelled, found["t"]["A"].relabelled, strict=True))
    assert len(pairs) == 30
    for one, other in pairs:
        assert len(set(one) & set(other)) == 1
        assert (set(one) & set(other)).pop().layer == 0
    for one, other in zip(found["s"]["A"].controls.sets, found["t"]["A"].controls.sets, strict=True):
        assert one[0] == other[0]
        assert one[1] != other[1]
    assert found["u"]["A"].relabelled == ()


def test_the_exact_p_counts_relabellings():
    found = table(trial(["L0H0"], [], [["L0H1"], ["L0H2"], ["L0H3"]])).sel(category="A")
    assert found["specificity_exact_p"].item() == (1 + 1) / 4
    assert found["n_relabelled"].item() == 3
    assert found["specificity_n_controls"].item() == 0


def test_no_heads_on_other_categories_tasks_is_the_reason_not_that_there_is_no_other():
    own, none = trial(["L0H0"]), trial((), reason="the rule calls no head of it (3 undecided)")
    designed = {task: {name: own if name == task[0].upper() else none for name in CATEGORIES} for task in TASKS}
    found = specificity(designed, measured(), categories=CATEGORIES, seed=0)
    reason = found["why"].sel(category="A").item()
    assert reason.startswith("on the tasks")
    assert reason.endswith("(3 undecided)")
