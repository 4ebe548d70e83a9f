"""Prompts of steering: what is asked has not been shown."""

from dataclasses import replace
from typing import Any

import pytest
from chat_layouts import WRAPPED, with_chat
from toy_cases import shared_toy
from toys import word_tokenizer

from headcats.base.errors import DataError, OptionError
from headcats.models.adapter import HookedModel, adapt
from headcats.papers.function_vector.prompts import steering_prompts
from headcats.papers.function_vector.settings import PAPERS_DEMOS, PAPERS_TEMPLATE, SteeringSettings
from headcats.scores.blocks import first_half
from headcats.tasks.definition import Task

PAIRS = [(f"w{i}", f"w{(7 * i + 3) % 54}") for i in range(40)]
SMALL = SteeringSettings(n_demos=3, template="arrow", n_reference=20, n_prompts=12, n_draws=2)


@pytest.fixture(scope="module")
def model() -> HookedModel:
    return adapt(shared_toy(n_layers=3).model)


def made(pairs: Any = PAIRS) -> Task:
    return Task("words", "Knowledge", "made up", lambda n, *, seed: list(pairs))


def knowing_unknown_words(model: HookedModel) -> HookedModel:
    """The same model with a tokenizer whose unknown word is not also its end of text."""
    other = HookedModel(model.model)
    other.tokenizer = word_tokenizer()
    return other


def words(rows: list[Any], model: HookedModel) -> list[list[str]]:
    return [model.tokenizer.convert_ids_to_tokens(row.tolist()) for batch in rows for row in batch.tokens]


def test_the_papers_numbers(model: HookedModel) -> None:
    # Todd et al. (2024): 10 shots "Q: x\nA: y\n\n", mean over 100 prompts.
    settings = SteeringSettings()
    assert settings.n_reference == 100
    assert (settings.n_prompts, settings.n_draws) == (100, 5)  # ours
    assert settings.template is settings.n_demos is None  # those of the run that ranked the heads, else the paper's:
    assert (PAPERS_TEMPLATE, PAPERS_DEMOS) == ("question", 10)
    with pytest.raises(OptionError, match=r"'question'.*template=.arrow"):
        steering_prompts(made(), knowing_unknown_words(model), settings, seed=0)
    for name in ("n_demos", "n_reference", "n_prompts", "n_draws"):
        with pytest.raises(OptionError, match=rf"{name} .* got 0"):
            SteeringSettings(**{name: 0})


def test_no_query_is_among_the_demonstrations(model: HookedModel) -> None:
    shown, asked, _ = steering_prompts(made(), model, SMALL, seed=0)
    few, zero = words(shown, model), words(asked, model)
    assert len(few) == 20
    assert len(zero) == 12
    outputs = dict(PAIRS)
    in_first = {given for given, _ in PAIRS if first_half(given, seed=0)}
    assert 10 < len(in_first) < 30
    for prompt, answer in zip(few, [word for rows in shown for word in rows.answer.tolist()], strict=True):
        inputs = [prompt[1 + 4 * demo] for demo in range(4)]
        assert len(prompt) == 1 + 4 * 3 + 2
        assert set(inputs) <= in_first
        assert len(set(inputs)) == 4
        assert [prompt[3 + 4 * demo] for demo in range(3)] == [outputs[given] for given in inputs[:3]]
        assert model.tokenizer.convert_ids_to_tokens([answer]) == [outputs[inputs[3]]]
    queries = [prompt[1] for prompt in zero]
    assert all(prompt == ["<bos>", query, "→"] for prompt, query in zip(zero, queries, strict=True))
    assert len(set(queries)) == 12  # every query comes once
    assert not set(queries) & in_first
    assert [item for rows in asked for item in rows.items] == queries


def test_a_chat_template_is_that_of_the_model(model: HookedModel) -> None:
    chatty = HookedModel(model.model, tokenizer=with_chat(word_tokenizer(), WRAPPED))
    shown, asked, _ = steering_prompts(made(), chatty, replace(SMALL, template="chat"), seed=0)
    assert all(prompt[0] == "w52" and prompt.count("→") == 4 for prompt in words(shown, chatty))
    assert all(prompt[0] == "w52" and len(prompt) == 7 for prompt in words(asked, chatty))  # w52 \n w53 , query \n →
    chatty.tokenizer = word_tokenizer()
    with pytest.raises(OptionError, match="no chat template"):
        steering_prompts(made(), chatty, replace(SMALL, template="chat"), seed=0)


def test_the_same_seed_gives_the_same_prompts_and_another_gives_others(model: HookedModel) -> None:
    first, again, other = (steering_prompts(made(), model, SMALL, seed=seed) for seed in (0, 0, 1))
    assert words(first[0], model) == words(again[0], model)
    assert words(first[1], model) != words(other[1], model)


def test_all_queries_where_there_are_few(model: HookedModel) -> None:
    _, asked, _ = steering_prompts(made(), model, SteeringSettings(n_demos=3, template="arrow"), seed=0)
    assert sum(len(rows.tokens) for rows in asked) == sum(not first_half(given, seed=0) for given, _ in PAIRS)


def test_what_is_dropped_is_counted(model: HookedModel) -> None:
    spoilt = [*PAIRS, ("w50", "w1,w2"), ("w51", "w3,w4")]
    assert list(steering_prompts(made(spoilt), model, SMALL, seed=0).dropped.values()) == [2]
    assert steering_prompts(made(), model, SMALL, seed=0).dropped == {}


def test_what_cannot_be_written_is_said(model: HookedModel) -> None:
    with pytest.raises(DataError, match=r"no usable .*; 1 answer"):
        steering_prompts(made([("w1", "w2,w3")]), model, SMALL, seed=0)
    with pytest.raises(DataError, match=r"3 demonstrations .* 4"):
        steering_prompts(made(PAIRS[:5]), model, SMALL, seed=0)
    with pytest.raises(DataError, match=r"of 20 \(0 kept; 20 longer"):
        steering_prompts(made(), model, SteeringSettings(n_demos=17, template="arrow", n_reference=20), seed=0)
