"""Steering as a whole: a literal replica on a random model, a real gain on the bundled one, and what is refused."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
import xarray as xr
from simulated import block, tree
from toys import WORDS, tiny_model, word_tokenizer

import headcats as hc
from headcats.errors import DataError, ModelError, OptionError, StatisticsWarning, UnknownNameError
from headcats.methods.function_vector.prompts import steering_prompts
from headcats.methods.function_vector.ranking import steering_heads
from headcats.methods.function_vector.settings import SteeringSettings
from headcats.methods.function_vector.steering import parse_heads, steer, steering_summary
from headcats.models.adapter import HookedModel, adapt
from headcats.scores.items import first_half
from headcats.tasks.definition import Task
from headcats.tasks.suites import make_suite

SMALL = SteeringSettings(n_demos=2, template="arrow", n_reference=8, n_prompts=8, n_draws=2)


@pytest.fixture(scope="module")
def model() -> HookedModel:
    return adapt(tiny_model("gpt2").model)


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
    found = steer(model, tasks, heads, settings=SMALL, seed=3)
    controls = [line.split(", ") for line in found.attrs["controls"].split("\n")]
    assert len(controls) == 2
    assert all(len(drawn) == len(set(drawn)) == 2 and not set(drawn) & set(heads) for drawn in controls)
    seen: set[float] = set()
    for task in tasks:
        shown, asked, _ = steering_prompts(task, model, SMALL, seed=3)
        few = [row for rows in shown for row in rows.tokens]
        queries = [(row, int(answer)) for rows in asked for row, answer in zip(rows.tokens, rows.answer, strict=True)]
        here = found.sel(task=task.name)
        right = [int(model.model(row[None], return_type="logits")[0, -1].argmax()) == answer for row, answer in queries]
        assert float(here["base"]) == np.mean(right)
        for place, names in enumerate([heads, *controls]):
            vector = sum(literal_mean(model.model, few, *map(int, name[1:].split("H"))) for name in names)
            for layer in range(3):
                steered = [literal_next(model.model, row, vector, layer) == answer for row, answer in queries]
                seen.add(float(np.mean(steered)))
                own = here["accuracy"] if place == 0 else here["control"].isel(draw=place - 1)
                assert float(own.sel(layer=layer)) == np.mean(steered)
    assert len(seen) > 2  # vectors and layers do make a difference
    assert found["category"].values.tolist() == ["Knowledge"] * 2
    assert json.loads(found.attrs["provenance"])["n_demos"] == 2
    assert found["n_reference"].values.tolist() == [8, 8]


def literal_mean(model: Any, prompts: list[torch.Tensor], layer: int, head: int) -> torch.Tensor:
    seen: list[torch.Tensor] = []
    for tokens in prompts:
        keep = (f"blocks.{layer}.attn.hook_z", lambda z, hook: seen.append(z[0, -1, head].clone()))
        model.run_with_hooks(tokens[None], fwd_hooks=[keep])
    return torch.stack([z @ model.blocks[layer].attn.W_O[head] for z in seen]).mean(0)


def literal_next(model: Any, tokens: torch.Tensor, vector: torch.Tensor, layer: int) -> int:
    def add(value: torch.Tensor, hook: Any) -> torch.Tensor:
        value = value.clone()
        value[0, -1] += vector
        return value

    hooks = [(f"blocks.{layer}.hook_resid_post", add)]
    return int(model.run_with_hooks(tokens[None], fwd_hooks=hooks, return_type="logits")[0, -1].argmax())


def test_a_function_vector_of_the_bundled_model_raises_accuracy() -> None:
    # What `benchmarks/steering.py` finds on the whole suite, on one task.
    settings = SteeringSettings(n_demos=5, template="arrow", n_reference=40, n_prompts=30, n_draws=3)
    heads = ["L1H4", "L1H6", "L4H1"]
    found = steer(hc.load_model("mini"), "icl", heads, tasks=["english_french"], settings=settings)
    here = found.sel(task="english_french")
    best = int(here["gain"].values.argmax())
    assert float(here["few_shot"]) > 0.9
    assert float(here["base"]) < 0.3
    assert float(here["gain_low"][best]) > 0.4
    assert float(here["excess_low"][best]) > 0.3
    assert float(here["q_value"][best]) < 0.01
    assert "1 of 1 task" in found.attrs["reading"]


def test_numbers_do_not_depend_on_the_other_tasks(model: HookedModel, tasks: list[Task]) -> None:
    both = steer(model, tasks, ["L1H0"], settings=SMALL)
    alone = steer(model, make_suite(tasks), ["L1H0"], tasks=["most"], settings=SMALL)
    together = both.sel(task=["most"]).drop_vars("q_value")
    xr.testing.assert_identical(together.drop_attrs(), alone.drop_vars("q_value").drop_attrs())
    assert (alone["q_value"] <= together["p_value"].max()).all()  # over fewer tests
    assert both.sizes == {"task": 2, "layer": 3, "draw": 2}


def test_heads_come_by_name_as_heads_or_as_a_ranking(model: HookedModel, tasks: list[Task]) -> None:
    ranking = xr.Dataset(coords={"name": ("rank", ["L1H0", "L0H2"])})
    given = [ranking, [hc.Head(1, 0), hc.Head(0, 2)], ["1.0", "L0H2"]]
    first, *others = [steer(model, tasks[:1], heads, settings=SMALL) for heads in given]
    assert all(first.identical(other) for other in others)


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
    def steered(heads: Any = ("L1H0",), **options: Any) -> None:
        steer(model, tasks, list(heads), **{"settings": SMALL, **options})

    with pytest.raises(DataError, match="a Dataset"):
        steer(model, tasks, xr.Dataset({"effect": 0.0}), settings=SMALL)
    with pytest.raises(DataError, match="has no head L9H0"):
        steered(["L9H0"])
    with pytest.raises(DataError, match="has no head L0H4"):
        steered(["L0H4"])
    with pytest.raises(DataError, match="got none"):
        steered([])
    with pytest.raises(DataError, match="each once; got L1H0, L1H0"):
        steered(["L1H0", "1.0"])
    with pytest.raises(OptionError, match=r"7 heads .* 5 others"):
        steered([f"L{layer}H{head}" for layer in (0, 1) for head in range(4)][:7])
    with pytest.raises(UnknownNameError, match="mean 'half'"):
        steered(tasks=["hlaf"])
    with pytest.raises(UnknownNameError, match="mean 'arrow'"):
        steered(settings=SteeringSettings(template="arow"))
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


def test_results_without_the_method_say_how_to_add_it() -> None:
    plain = tree({"t": block(np.zeros((8, 1, 2)))}, categories={"t": "Knowledge"})
    with pytest.raises(UnknownNameError, match="function_vector_patch"):
        steering_heads(plain)


def test_demonstrations_are_as_many_as_in_the_run_that_chose_the_heads(model: HookedModel, tasks: list[Task]) -> None:
    heads = steering_heads(ranked(["prob"], plan='{"template": "arrow", "n_demos": 3}'), 1)
    assert heads.attrs["n_demos"] == 3
    untold = {"template": None, "n_demos": None}
    found = steer(model, tasks[:1], heads, settings=replace(SMALL, **untold))
    assert json.loads(found.attrs["provenance"])["n_demos"] == 3
    said = replace(SMALL, n_demos=3)
    assert found["accuracy"].identical(steer(model, tasks[:1], ["L0H0"], settings=said)["accuracy"])
    told = steer(model, tasks[:1], heads, settings=SMALL)
    assert json.loads(told.attrs["provenance"])["n_demos"] == 2  # settings win
    papers = steer(model, tasks[:1], ["L0H0"], settings=replace(SMALL, n_demos=None))
    assert json.loads(papers.attrs["provenance"])["n_demos"] == 10
    without = steering_heads(ranked(["prob"], plan='{"n_demos": 0}'), 1)  # of a run without demonstrations
    kept = steer(model, tasks[:1], without, settings=replace(SMALL, n_demos=None))
    assert json.loads(kept.attrs["provenance"])["n_demos"] == 10


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


def test_the_forms_of_a_head(model: HookedModel) -> None:
    heads = ["L1H0", "0.2", hc.Head(2, 3), (0, 1), tuple(np.array([1, 1]))]
    assert parse_heads(heads, model) == (hc.Head(1, 0), hc.Head(0, 2), hc.Head(2, 3), hc.Head(0, 1), hc.Head(1, 1))
    assert all(type(number) is int for head in parse_heads(heads, model) for number in head)


@pytest.mark.parametrize(
    ("heads", "message"),
    [
        ([6, 7], r"hc\.Head\(9, 6\).* got 6"),
        ([(1, 2, 3)], r"got \(1, 2, 3\)"),
        ("L1H6", r"got 'L1H6'\. Pass \['L1H6'\]"),
        (hc.Head(1, 2), r"Pass \['L1H2'\]"),
        (6, r'got 6\. Pass "L1H6" or hc\.Head\(1, 6\), in a list'),
    ],
)
def test_what_is_no_list_of_heads_is_answered_with_the_forms(model: HookedModel, heads: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        parse_heads(heads, model)


def test_tasks_answered_in_sentences_are_named_before_the_template(model: HookedModel) -> None:
    with pytest.raises(DataError, match=r"whole sentences, .*'icl'"):
        steer(model, "sentences", ["L1H0"])


def test_the_reading_says_on_how_many_items_the_heads_were_ranked(model: HookedModel, tasks: list[Task]) -> None:
    # 30 items, of which about half rank.
    heads = steering_heads(ranked(["prob"]), 1, seed=0)
    n = sum(first_half(f"item {item}", seed=0) for item in range(30))
    assert heads["n_items"].values.tolist() == [n]
    reading = steer(model, tasks[:1], heads, settings=SMALL).attrs["reading"]
    assert f"on {n} query items" in reading
    assert "fewer than 10" not in reading
    few = steer(model, tasks[:1], heads.assign(n_items=("task", [1])), settings=SMALL).attrs["reading"]
    assert "on 1 query item" in few
    assert "fewer than 10" in few
    assert "ranked on" not in steer(model, tasks[:1], ["L0H0"], settings=SMALL).attrs["reading"]


def test_prompts_are_written_as_in_the_run_that_chose_the_heads(model: HookedModel, tasks: list[Task]) -> None:
    heads = steering_heads(ranked(["prob"], plan='{"template": "arrow"}'), 1)
    assert heads.attrs["template"] == "arrow"
    assert "template" not in steering_heads(ranked(["prob"]), 1).attrs
    open_ended = replace(SMALL, template=None)
    found = steer(model, tasks[:1], both_heads(template="arrow"), settings=open_ended)
    assert json.loads(found.attrs["provenance"])["template"] == "arrow"
    told = steer(model, tasks[:1], both_heads(template="question"), settings=SMALL)
    assert told.identical(found)  # settings win
    strict = HookedModel(model.model)
    strict.tokenizer = word_tokenizer()  # the toy's own takes unknown words for its end of text
    for unknown in (both_heads(), ["L1H0"]):
        with pytest.raises(OptionError, match=r"'question'.*template=.arrow"):
            steer(strict, tasks[:1], unknown, settings=open_ended)


def reading_of(accuracy: Any, *, control: float, q_value: Any, base: float = 0.2) -> str:
    accuracy = np.asarray(accuracy, dtype=float)
    n_tasks, n_layers = accuracy.shape
    dims = ("task", "layer")
    table = xr.Dataset(
        {
            "accuracy": (dims, accuracy),
            "gain": (dims, accuracy - base),
            "q_value": (dims, np.broadcast_to(q_value, accuracy.shape)),
            "base": ("task", [base] * n_tasks),
            "few_shot": ("task", [0.9] * n_tasks),
            "n": ("task", np.arange(n_tasks) + 10),
            "control": (("task", "layer", "draw"), np.full((n_tasks, n_layers, 2), control)),
        },
        coords={"task": [f"t{i}" for i in range(n_tasks)], "layer": range(n_layers)},
        attrs={"heads": "L0H0, L1H1", "left_out": "{}"},
    )
    return "\n".join(steering_summary(table))


def test_the_reading_claims_no_more_than_the_numbers() -> None:
    raised = reading_of([[0.3, 0.9], [0.2, 0.6]], control=0.25, q_value=[[0.5, 0.01], [0.5, 0.2]])
    assert "0.20 of the queries" in raised
    assert "2 heads after block 1" in raised
    assert "1 of 2 tasks" in raised
    assert "t0 0.20 to 0.90 (block 1)." in raised
    assert "The other 1 " in raised
    assert "Random other heads" not in raised
    nothing = reading_of([[0.3, 0.5]], control=0.6, q_value=1.0)
    assert "Random other heads" in nothing
    assert "No task " in nothing
    assert "task: 10 to 10" in nothing
