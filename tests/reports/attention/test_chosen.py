"""Which heads and tasks are shown, on results with planted heads."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import xarray as xr
from example_joint import weights_of
from simulated import block, tree

import headcats as hc
from headcats.base.errors import DataError, OptionError, UnknownNameError
from headcats.categories.map_spec import MapSpec
from headcats.models.head import Head
from headcats.reports.attention.chosen import Choice, choose
from headcats.results.finding import line
from headcats.results.run_results import RunResults

pytestmark = pytest.mark.filterwarnings("ignore::headcats.base.errors.StatisticsWarning")
TASKS = dict.fromkeys(("plural", "gerund", "antonym"), "Linguistic") | {"capital": "Knowledge"}


def choice(results: xr.DataTree, *, heads: int = 4, **options: Any) -> Choice:
    return choose(RunResults(results), MapSpec.parse(**options), heads=heads)


def planted(
    effects: Mapping[str, Mapping[tuple[int, int], float]], *, prompts: int = 24, label: str = "denoising_patch@last"
) -> xr.DataTree:
    """Results of 2 layers of 4 heads: task -> (layer, head) -> effect, and noise of .01."""
    rng = np.random.default_rng(0)
    blocks = {}
    for task, heads in effects.items():
        differences = 0.01 * rng.standard_normal((prompts, 2, 4))
        for (layer, head), effect in heads.items():
            differences[:, layer, head] += effect
        blocks[task] = block(differences)
    results = tree(blocks, categories=TASKS, name=label)
    manifest = {
        "plan": {"metrics": ["logit_diff"], "suite": "icl", "n_demos": 5},
        "model": {"name": "planted"},
        "methods": [label],
        "tasks": {task: {"category": TASKS[task], "refusal": ""} for task in effects},
        "blocks": {},
    }
    results.attrs["manifest"] = json.dumps(manifest)
    return results


def test_members_with_the_largest_effect_first() -> None:
    both = {(0, 1): 0.5, (1, 2): 0.7, (1, 3): 0.3}
    found = choice(planted({"plural": both, "gerund": both, "capital": {(0, 0): 0.4}}), heads=2)
    assert [one.category for one in found.categories] == ["Knowledge", "Linguistic"]
    knowledge, linguistic = found.categories
    assert [one.head for one in linguistic.heads] == [Head(1, 2), Head(0, 1)]
    first = linguistic.heads[0]
    assert first.status == "in"
    assert first.tasks == ("plural", "gerund")
    assert first.low <= first.effect <= first.high
    assert first.effect == pytest.approx(0.7, abs=0.02)
    assert first.q < 0.05
    assert linguistic.why.id == "attention.why_largest"
    assert linguistic.why.fields == {"category": "Linguistic", "shown": 2, "n": 3, "reason": ""}
    assert knowledge.why.id == "attention.why_only"
    assert knowledge.why.fields["category"] == "Knowledge"
    rule = hc.rules.fdr(alpha=0.05, min_effect=0.05)
    reading = MapSpec.parse(method="denoising_patch@last", metric="logit_diff", rule=rule)
    assert found.by == replace(reading, model="planted").title
    assert found.left_out == {}


def test_tasks_that_most_heads_pass_come_first() -> None:
    both = {(0, 1): 0.5, (1, 2): 0.6}
    effects = {"plural": {(0, 1): 0.5}, "gerund": both, "antonym": both, "capital": {(0, 0): 0.4}}
    (_, linguistic) = choice(planted(effects)).categories
    assert set(linguistic.tasks[:2]) == {"gerund", "antonym"}
    assert set(linguistic.heads[0].tasks) == {"gerund", "antonym"}


def test_without_members_the_strongest_undecided_heads() -> None:
    # Above 0 for sure, but not for sure above .05.
    weak = {(0, 1): 0.05, (1, 2): 0.051}
    found = choice(planted({"plural": weak, "gerund": weak, "capital": {(0, 0): 0.4}}))
    linguistic = found.categories[1]
    assert [one.status for one in linguistic.heads] == ["undecided"] * len(linguistic.heads)
    assert {one.head for one in linguistic.heads} == {Head(0, 1), Head(1, 2)}
    assert linguistic.why.id == "attention.why_undecided"
    assert linguistic.why.fields == {"category": "Linguistic", "shown": 2, "n": 2, "reason": ""}


def test_nothing_that_can_be_judged_shows_the_largest_effects() -> None:
    found = choice(planted({"plural": {(0, 1): 0.5}, "capital": {(1, 1): 0.3}}, prompts=3), heads=1)
    assert [one.heads[0].head for one in found.categories] == [Head(1, 1), Head(0, 1)]
    assert all(one.heads[0].status == "undecided" for one in found.categories)
    why = found.categories[0].why
    assert why.id == "attention.why_not_judged"
    assert "query items" in why.fields["reason"]


def test_a_category_without_any_head_is_named() -> None:
    clear = {(layer, head): -0.3 for layer in range(2) for head in range(4)}
    found = choice(planted({"plural": clear, "capital": {(0, 0): 0.4}}))
    assert [one.category for one in found.categories] == ["Knowledge"]
    assert found.left_out == {"Linguistic": line("attention.no_head")}
    with pytest.raises(DataError, match=r"category .*Linguistic: no "):
        choice(planted({"plural": clear}))


def test_another_rule_and_number_of_tasks() -> None:
    effects = {"plural": {(0, 1): 0.5}, "gerund": {(0, 1): 0.5, (1, 2): 0.6}, "capital": {(0, 0): 0.4}}
    asked = {"rule": hc.rules.threshold(value=0.2), "min_tasks": 2}
    found = choice(planted(effects | {"capital": {(0, 0): 0.4}}), **asked)
    assert [one.category for one in found.categories] == ["Linguistic"]
    assert [one.head for one in found.categories[0].heads] == [Head(0, 1)]
    assert "threshold(" in found.by
    assert "at least 2 tasks" in found.by


def test_controls_and_unknown_methods_are_refused() -> None:
    results = planted({"plural": {(0, 1): 0.5}}, label="second_corruption_patch@last")
    with pytest.raises(OptionError, match="is a control"):
        choice(results)
    with pytest.raises(UnknownNameError, match=r"block .*'noising_patch'"):
        choice(planted({"plural": {(0, 1): 0.5}}), method="noising_patch")


@pytest.mark.usefixtures("joint_methods")
def test_heads_by_their_weights_where_nothing_else_was_scored() -> None:
    results = planted({})
    score = np.zeros((2, 2, 4))
    score[0, 0, 1], score[0, 1, 0] = 0.6, 0.2
    tasks = ["plural", "capital"]
    block = weights_of(score, tasks=tasks, belongs=[TASKS[task] for task in tasks], threshold=[0.15] * 2)
    results["/_suite/word_weights"] = xr.DataTree(block)
    found = choice(results)
    assert repr(found) == repr(choice(results, method="word_weights"))
    (linguistic,) = found.categories
    assert [(one.head, one.effect) for one in linguistic.heads] == [(Head(0, 1), 0.6), (Head(1, 0), 0.2)]
    assert np.isnan([linguistic.heads[0].q, linguistic.heads[0].low]).all()
    assert list(found.left_out) == ["Knowledge"]
    assert found.by.startswith("word_weights, model ")


@pytest.mark.usefixtures("joint_methods")
def test_results_that_say_nothing_about_categories_are_refused() -> None:
    results = planted({})
    with pytest.raises(DataError, match="no scored task"):
        choice(results)
    results["/_suite/spoken_probe"] = xr.DataTree(
        xr.Dataset({"gate": ("head", [1.0])}, attrs={"label": "spoken_probe"})
    )
    with pytest.raises(OptionError, match="spoken_probe sorts no heads"):
        choice(results)
    with pytest.raises(OptionError, match=r"no word_weights: .*word_weights"):
        choice(results, method="word_weights")
