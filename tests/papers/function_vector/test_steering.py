"""Steering as a whole: a literal replica on a random model, a real gain on the bundled one, and what is refused."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
import xarray as xr
from literal_steering import mean_output, predicted
from simulated import block, tree
from toy_cases import shared_toy
from toys import WORDS, word_tokenizer

import headcats as hc
from headcats.base.errors import DataError, ModelError, OptionError, StatisticsWarning, UnknownNameError
from headcats.models.adapter import HookedModel, adapt
from headcats.papers.function_vector.accuracy import steering_prompts
from headcats.papers.function_vector.ranking import steering_heads
from headcats.papers.function_vector.settings import SteeringSettings
from headcats.papers.function_vector.steering import parse_heads, steer, steering_summary
from headcats.scores.blocks import first_half
from headcats.tasks.definition import Task
from headcats.tasks.suites import make_suite

SMALL = SteeringSettings(n_demos=2, template="arrow", n_reference=8, n_prompts=8, n_draws=2)


@pytest.fixture(scope="module")
def model() -> HookedModel:
    return adapt(shared_toy(n_layers=3).model)


def half_right(model: HookedModel, name: str, *, every: int) -> Task:
    """A task that the model itself solves without demonstrations, but for one in `every` words."""
    pairs = []
    for number in range(40):
        tokens = torch.tensor([[0, WORDS.index(f"w{number}"), WORDS.index("→")]])
        best = WORDS[int(model.logits(tokens)[0, 6:].argmax()) + 6]
        wrong = "w1" if best != "w1" else "w2"
        pairs.append((f"w{number}", wrong if number % every == 0 else best))
    return Task(name, "Knowledge", "made up", lambda n, *, seed: pairs)


@pytest.fixture(scope="module")
def tasks(model: HookedModel) -> list[Task]:
    return [half_right(model, "half", every=2), half_right(model, "most", every=4)]


@torch.no_grad()
def test_equals_a_literal_replica(model: HookedModel, tasks: list[Task]) -> None:
    heads = ["L0H1", "L2H3"]
    found = steer(model, tasks[1:], heads, settings=SMALL, seed=3)
    controls = [line.split(", ") for line in found.attrs["controls"].split("\n")]
    assert len(controls) == 2
    assert all(len(drawn) == len(set(drawn)) == 2 and not set(drawn) & set(heads) for drawn in controls)
    seen: set[float] = set()
    for task in tasks[1:]:
        shown, asked, _ = steering_prompts(task, model, SMALL, seed=3)
        few = [row for rows in shown for row in rows.tokens]
        queries = [(row, int(answer)) for rows in asked for row, answer in zip(rows.tokens, rows.answer, strict=True)]
        here = found.sel(task=task.name)
        right = [int(model.model(row[None], return_type="logits")[0, -1].argmax()) == answer for row, answer in queries]
        assert float(here["base"]) == np.mean(right)
        for place, names in enumerate([heads, *controls[:1]]):
            vector = sum(mean_output(model.model, few, *map(int, name[1:].split("H"))) for name in names)
            for layer in range(3):
                steered = [predicted(model.model, row, vector, layer) == answer for row, answer in queries]
                seen.add(float(np.mean(steered)))
                own = here["accuracy"] if place == 0 else here["control"].isel(draw=place - 1)
                assert float(own.sel(layer=layer)) == np.mean(steered)
    assert len(seen) > 2  # vectors and layers do make a difference
    assert found["category"].values.tolist() == ["Knowledge"]
    assert json.loads(found.attrs["provenance"])["n_demos"] == 2
    assert found["n_reference"].values.tolist() == [8]


def test_numbers_do_not_depend_on_the_other_tasks(model: HookedModel, tasks: list[Task]) -> None:
    both = steer(model, tasks, xr.Dataset(coords={"name": ("rank", ["L1H0"])}), settings=SMALL)
    alone = steer(model, make_suite(tasks), ["L1H0"], tasks=["most"], settings=SMALL)
    together = both.sel(task=["most"]).drop_vars("q_value")
    xr.testing.assert_identical(together.drop_attrs(), alone.drop_vars("q_value").drop_attrs())
    assert (alone["q_value"] <= together["p_value"].max()).all()  # over fewer tests
    assert both.sizes == {"task": 2, "layer": 3, "draw": 2}


def test_tasks_that_cannot_be_steered_are_named(model: HookedModel, tasks: list[Task]) -> None:
    short = Task("short", "Knowledge", "made up", lambda n, *, seed: [("w1", "w2"), ("w3", "w4")])
    found = steer(model, [*tasks, short], ["L1H0"], settings=SMALL)
    assert found["task"].values.tolist() == ["half", "most"]
    assert "fewer demonstrations" in json.loads(found.attrs["left_out"])["short"]
    assert found.attrs["reading"].endswith("steered: short.")
    assert json.loads(found.attrs["dropped"]) == {}
    spoilt = Task(
        "spoilt", "Knowledge", "made up", lambda n, *, seed: [*tasks[0].pairs(n, seed=seed), ("w50", "w1,w2")]
    )
    counted = steer(model, [spoilt], ["L1H0"], settings=SMALL).attrs["dropped"]
    assert [sum(reasons.values()) for reasons in json.loads(counted).values()] == [1]
    with pytest.raises(DataError, match=r":\n- short: "):
        steer(model, [short], ["L1H0"], settings=SMALL)


def test_what_is_refused(model: HookedModel, tasks: list[Task]) -> None:
    seven = [f"L{layer}H{head}" for layer in (0, 1) for head in range(4)][:7]
    for heads, options, error, message in (
        (xr.Dataset({"effect": 0.0}), {}, DataError, "a Dataset"),
        (["L9H0"], {}, DataError, "head L9H0"),
        (["L1H0", "1.0"], {}, DataError, "got L1H0, L1H0"),
        (seven, {}, OptionError, "7 heads .* 5 others"),
        (["L1H0"], {"tasks": ["hlaf"]}, UnknownNameError, "'half'"),
        (["L1H0"], {"settings": SteeringSettings(template="arow")}, UnknownNameError, "'arrow'"),
    ):
        with pytest.raises(error, match=message):
            steer(model, tasks, heads, **{"settings": SMALL, **options})
    with pytest.raises(DataError, match=r"sentences, .*'icl'"):
        steer(model, "sentences", ["L1H0"])
    bare = HookedModel(model.model)
    bare.tokenizer = None
    with pytest.raises(ModelError, match="no tokenizer"):
        steer(bare, tasks, ["L1H0"], settings=SMALL)


def test_heads_are_chosen_by_the_items_that_are_not_asked() -> None:
    # Head 0 stands out on the items of the first half, head 1 on those that are asked.
    items = np.arange(30)
    first = np.array([first_half(f"item {item}", seed=5) for item in items])
    differences = np.zeros((30, 1, 3))
    differences[first, 0, 0], differences[~first, 0, 1] = 0.2, 0.9
    results = tree(
        {"t": block(differences, items=items)}, categories={"t": "Knowledge"}, name="function_vector_patch@last"
    )
    found = steering_heads(results, 2, metric="logit_diff", seed=5)
    assert found["name"].values.tolist() == ["L0H0", "L0H1"]
    np.testing.assert_allclose(found["effect"], [0.2, 0])
    with pytest.raises(UnknownNameError, match="logit_diff,prob"):
        steering_heads(results, 2, metric="prob")
    with pytest.raises(UnknownNameError, match="function_vector_patch"):
        steering_heads(tree({"t": block(np.zeros((8, 1, 2)))}, categories={"t": "Knowledge"}))


def both_heads(**attrs: str) -> xr.Dataset:
    return xr.Dataset(coords={"name": ("rank", ["L1H0", "L0H2"])}, attrs=attrs)


def ranked(metrics: list[str], *, plan: str = "{}") -> xr.DataTree:
    """Results of 30 items, in which the first metric is helped by head 0 and each further one by the next."""
    blocks = []
    for place, metric in enumerate(metrics):
        differences = np.zeros((30, 1, 3))
        differences[..., place] = 0.5
        blocks.append(block(differences).assign_coords(metric=[metric]))
    made = tree({"t": xr.concat(blocks, "metric")}, categories={"t": "Knowledge"}, name="function_vector_patch@last")
    made.attrs["manifest"] = f'{{"plan": {plan}}}'
    return made


def test_the_papers_metric_where_the_run_has_it_else_the_first_of_the_run_with_a_word() -> None:
    both = steering_heads(ranked(["logit_diff", "prob"]), 1)
    assert (both.attrs["metric"], both["name"].item()) == ("prob", "L0H1")
    with pytest.warns(StatisticsWarning, match=r"'kl'.*rank,prob"):
        other = steering_heads(ranked(["kl", "rank"]), 1)
    assert (other.attrs["metric"], other["name"].item()) == ("kl", "L0H0")
    with pytest.warns(StatisticsWarning, match=r"ranked by 'accuracy'"):
        steering_heads(ranked(["accuracy"]), 1)
    named = steering_heads(ranked(["kl", "rank"]), 1, metric="rank")  # asked for, so nothing to warn of
    assert (named.attrs["metric"], named["name"].item()) == ("rank", "L0H1")


def test_prompts_are_those_of_the_run_that_chose_the_heads(model: HookedModel, tasks: list[Task]) -> None:
    def written(heads: Any, **settings: Any) -> tuple[str, int]:
        found = steer(model, tasks[1:], heads, settings=replace(SMALL, **settings))
        provenance = json.loads(found.attrs["provenance"])
        return provenance["template"], provenance["n_demos"]

    heads = steering_heads(ranked(["prob"], plan='{"template": "arrow", "n_demos": 3}'), 1)
    assert (heads.attrs["template"], heads.attrs["n_demos"]) == ("arrow", 3)
    assert written(heads, template=None, n_demos=None) == ("arrow", 3)
    assert written(heads) == ("arrow", 2)  # settings win
    assert written(both_heads(template="question")) == ("arrow", 2)
    assert written(["L0H0"], n_demos=None) == ("arrow", 10)  # the paper's
    without = steering_heads(ranked(["prob"], plan='{"n_demos": 0}'), 1)  # of a run without demonstrations
    assert "template" not in without.attrs
    assert written(without, n_demos=None) == ("arrow", 10)
    strict = HookedModel(model.model)
    strict.tokenizer = word_tokenizer()  # the toy's own takes unknown words for its end of text
    for unknown in (both_heads(), ["L1H0"]):
        with pytest.raises(OptionError, match=r"'question'.*template=.arrow"):
            steer(strict, tasks[:1], unknown, settings=replace(SMALL, template=None))


def test_heads_of_another_models_weights_are_refused(model: HookedModel, tasks: list[Task]) -> None:
    results = ranked(["prob"])
    results.attrs["manifest"] = json.dumps({"model": {"name": "mine", "weights_hash": model.weights_hash()}})
    own = steering_heads(results, 1)
    assert (own.attrs["model"], own.attrs["weights_hash"]) == ("mine", model.weights_hash())
    assert steer(model, tasks[:1], own, settings=SMALL).sizes["task"] == 1
    other = own.assign_attrs(weights_hash="0123")
    with pytest.raises(DataError, match=r"'mine' \(weights 0123\).*tolist\(\)"):
        steer(model, tasks[:1], other, settings=SMALL)
    assert steer(model, tasks[:1], other["name"].values.tolist(), settings=SMALL).sizes["task"] == 1


def test_what_is_no_list_of_heads_is_answered_with_the_forms(model: HookedModel) -> None:
    for heads, message in (
        ([6, 7], r"hc\.Head\(9, 6\).* got 6"),
        ([(1, 2, 3)], r"got \(1, 2, 3\)"),
        ("L1H6", r"got 'L1H6'\. Pass \['L1H6'\]"),
        (hc.Head(1, 2), r"Pass \['L1H2'\]"),
        (6, r'got 6\. .*"L1H6" or hc\.Head\(1, 6\)'),
    ):
        with pytest.raises(DataError, match=message):
            parse_heads(heads, model)


def reading_of(accuracy: list[list[float]], *, control: float, q_value: Any) -> str:
    dims, values = ("task", "layer"), np.array(accuracy)
    table = xr.Dataset(
        {
            "accuracy": (dims, values),
            "gain": (dims, values - 0.2),
            "q_value": (dims, np.broadcast_to(q_value, values.shape)),
            "base": ("task", [0.2] * len(values)),
            "few_shot": ("task", [0.9] * len(values)),
            "n": ("task", np.arange(len(values)) + 10),
            "control": ((*dims, "draw"), np.full((*values.shape, 2), control)),
        },
        coords={"task": [f"t{i}" for i in range(len(values))], "layer": range(values.shape[1])},
        attrs={"heads": "L0H0, L1H1", "left_out": "{}"},
    )
    return "\n".join(steering_summary(table))


def test_the_reading_claims_no_more_than_the_numbers() -> None:
    raised = reading_of([[0.3, 0.9], [0.2, 0.6]], control=0.25, q_value=[[0.5, 0.01], [0.5, 0.2]])
    for part in ("0.20 of", "2 heads after block 1", "1 of 2 tasks", "t0 0.20 to 0.90", "The other 1 "):
        assert part in raised
    assert "Random other heads" not in raised
    nothing = reading_of([[0.3, 0.5]], control=0.6, q_value=1.0)
    assert "Random other heads" in nothing
    assert "No task " in nothing
