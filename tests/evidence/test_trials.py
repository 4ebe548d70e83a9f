"""Which heads are tested: members in the order of their category-specific effect, the tested task unknown."""

import warnings

import numpy as np
import pytest
import xarray as xr
from simulated import block, tree

import headcats as hc
from headcats.errors import StatisticsWarning
from headcats.evidence.trials import Selection, category_specific_effect, most_specific, numbered_tasks, select
from headcats.models.head import Head

TASKS = {"k1": "Knowledge", "k2": "Knowledge", "k3": "Knowledge", "l1": "Linguistic", "l2": "Linguistic"}
EFFECTS = {
    "k1": {(0, 0): 0.9, (0, 1): 0.5, (1, 2): 0.4},
    "k2": {(0, 0): 0.9, (0, 1): 0.5},
    "k3": {(0, 0): 0.9, (0, 1): 0.5},
    "l1": {(0, 0): 0.8, (1, 3): 0.6},
    "l2": {(0, 0): 0.8, (1, 3): 0.6},
}


def scores_of(effects=EFFECTS, tasks=TASKS) -> xr.Dataset:
    rng = np.random.default_rng(0)
    blocks = {}
    for task, planted in effects.items():
        differences = 0.02 * rng.standard_normal((30, 2, 4))
        for (layer, head), value in planted.items():
            differences[:, layer, head] += value
        blocks[task] = block(differences)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StatisticsWarning)
        return hc.score(tree(blocks, categories=tasks), method="denoising_patch")


def chosen(scores, **options) -> dict[str, Selection]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StatisticsWarning)
        return select(scores, **({"rule": None, "min_tasks": "half"} | options))


@pytest.fixture(scope="module")
def scores():
    return scores_of()


def test_category_specific_effect_by_hand(scores):
    effect = scores["effect"]
    mean = {
        name: effect.sel(task=list(own)).mean("task") for name, own in (("K", ["k1", "k2", "k3"]), ("L", ["l1", "l2"]))
    }
    found = category_specific_effect(scores)
    np.testing.assert_allclose(found.sel(category="Knowledge"), mean["K"] - mean["L"], atol=1e-12)
    np.testing.assert_allclose(found.sel(category="Linguistic"), mean["L"] - mean["K"], atol=1e-12)


def test_tasks_count_only_with_what_the_rule_reads(scores):
    nulls = xr.zeros_like(scores["effect"]).where(scores["task"].isin(["k3", "l1", "l2"]))
    found = select(
        scores.assign(null_effect=nulls), rule=hc.rules.null_calibrated(quantile=0.95), min_tasks="half", without="k3"
    )
    assert "own task k3" in found["Knowledge"].reason
    assert found["Linguistic"].members
    assert found["Linguistic"].unknown == ("Knowledge",)


def test_members_are_ordered_by_what_is_specific_not_by_what_is_large(scores):
    found = chosen(scores)
    assert found["Knowledge"].members == (Head(0, 1), Head(0, 0))
    assert found["Linguistic"].members == (Head(1, 3), Head(0, 0))
    assert found["Knowledge"].exclusive == (Head(0, 1),)
    assert found["Linguistic"].exclusive == (Head(1, 3),)
    assert found["Translation"].members == ()
    assert "(all tasks)" in found["Translation"].reason


def test_a_head_of_one_task_alone_is_unknown_to_that_task(scores):
    assert Head(1, 2) in chosen(scores, min_tasks=1)["Knowledge"].members
    assert Head(1, 2) not in chosen(scores, min_tasks=1, without="k1")["Knowledge"].members
    assert Head(1, 2) in chosen(scores, min_tasks=1, without="k2")["Knowledge"].members


def test_leaving_out_equals_never_having_had_the_task(scores):
    kept = {task: planted for task, planted in EFFECTS.items() if task != "l2"}
    # Fewer tests need fewer sign draws; effects are the same.
    alone = chosen(scores_of(kept, {task: TASKS[task] for task in kept}))
    left_out = chosen(scores, without="l2")
    assert {name: one.members for name, one in alone.items()} == {name: one.members for name, one in left_out.items()}


def test_the_only_task_of_a_category_cannot_be_left_out():
    scores = scores_of({**EFFECTS, "t1": {(1, 0): 0.7}}, {**TASKS, "t1": "Translation"})
    assert chosen(scores)["Translation"].members == (Head(1, 0),)
    found = chosen(scores, without="t1")
    assert found["Translation"].members == ()
    assert "own task t1" in found["Translation"].reason
    assert found["Knowledge"].members


def test_too_few_tasks_for_min_tasks_concern_their_category_alone(scores):
    found = chosen(scores, min_tasks=2, without="l1")
    # Linguistic has two tasks: with one left out, the other one is all that can be asked for.
    assert found["Linguistic"].members == (Head(1, 3), Head(0, 0))
    assert found["Linguistic"].relaxed == 1
    assert found["Knowledge"] == chosen(scores, min_tasks=2)["Knowledge"]
    found = chosen(scores, min_tasks=3, without="l1")
    assert "1 task with numbers" in found["Linguistic"].reason
    assert "(l1 left out)" in found["Linguistic"].reason
    assert "min_tasks=3" in found["Linguistic"].reason
    assert found["Knowledge"].members == (Head(0, 1), Head(0, 0))
    assert chosen(scores, min_tasks=3, without="k1")["Knowledge"].relaxed == 2
    assert chosen(scores, min_tasks=3, without="k1")["Knowledge"].members == (Head(0, 1), Head(0, 0))
    assert all(not selection.members and selection.reason for selection in chosen(scores, min_tasks=9).values())


def test_a_rule_that_cannot_call_anything_is_a_reason_not_an_error():
    few = scores_of({task: {} for task in EFFECTS}).assign(smallest_p=("task", [0.5] * 5))
    found = chosen(few)
    assert "could not call" in found["Knowledge"].reason
    assert found["Knowledge"].members == ()


def test_undecided_heads_are_counted(scores):
    wide = scores.assign(standard_error=scores["standard_error"] * 0 + 10)
    assert chosen(wide)["Knowledge"].reason.endswith("(8 undecided)")


def test_nan_tasks_do_not_count(scores):
    spoilt = scores.copy(deep=True)
    for name in ("effect", "low", "high", "p_value"):
        spoilt[name].loc[{"task": "k3"}] = np.nan
    assert numbered_tasks(spoilt)["Knowledge"] == ["k1", "k2"]
    assert chosen(spoilt)["Knowledge"].members == (Head(0, 1), Head(0, 0))
    assert np.isfinite(category_specific_effect(spoilt).sel(category="Knowledge")).all()


def test_draws_of_bootstrap_are_not_needed(scores):
    more = scores.assign(resampled=(("resample", "task", "layer", "head"), np.zeros((3, 5, 2, 4))))
    assert chosen(more, without="k1") == chosen(scores, without="k1")


def test_warnings_come_once_with_nothing_left_out(scores):
    with pytest.warns(StatisticsWarning, match="stay empty"):
        select(scores, rule=None, min_tasks="half")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        select(scores, rule=None, min_tasks="half", without="k1")


def test_at_most_four_and_at_most_half_of_a_layer():
    ordered = [Head(0, head) for head in range(4)] + [Head(1, head) for head in range(4)]
    assert most_specific(ordered, {0: 4, 1: 4}) == (Head(0, 0), Head(0, 1), Head(1, 0), Head(1, 1))
    assert most_specific(ordered, {0: 8, 1: 8}) == tuple(ordered[:4])
    assert most_specific([Head(0, 0), Head(1, 0)], {0: 1, 1: 1}) == (Head(0, 0), Head(1, 0))
    assert most_specific([], {0: 4}) == ()
