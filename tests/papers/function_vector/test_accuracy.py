"""Prompts of steering, function vectors and what they do, beside plain hooks and loops."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from chat_layouts import WRAPPED, with_chat
from literal_steering import mean_output, predicted
from toy_cases import TOYS, shared_toy
from toys import random_tokens, tiny_model, word_tokenizer

from headcats.base.errors import DataError, OptionError
from headcats.models.adapter import HookedModel, adapt
from headcats.models.head import Head
from headcats.papers.function_vector.accuracy import (
    Rows,
    function_vectors,
    right_answers,
    steered_task,
    steering_prompts,
)
from headcats.papers.function_vector.settings import PAPERS_DEMOS, PAPERS_TEMPLATE, SteeringSettings
from headcats.scores.blocks import first_half
from headcats.tasks.definition import Task

SETS = [(Head(0, 1), Head(2, 3)), (Head(1, 0),)]
PAIRS = [(f"w{i}", f"w{(7 * i + 3) % 54}") for i in range(40)]
SMALL = SteeringSettings(n_demos=3, template="arrow", n_reference=20, n_prompts=12, n_draws=2)


@torch.no_grad()
@pytest.mark.parametrize(("layout", "backend"), TOYS)
def test_equal_plain_hooks_and_loops(layout: Any, backend: Any) -> None:
    model = tiny_model(layout, backend).model
    shown = [random_tokens(5, 6), random_tokens(3, 8, seed=1)]
    found = function_vectors(adapt(model), shown, SETS)
    prompts = [tokens for batch in shown for tokens in batch]
    expected = torch.stack([sum(mean_output(model, prompts, *head) for head in heads) for heads in SETS])
    assert expected.norm(dim=-1).min() > 0.1
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)

    asked = random_tokens(6, 3, seed=2)
    changed = 0
    for layer in range(3):
        steered = torch.tensor(
            [[predicted(model, tokens, 5 * vector, layer) for tokens in asked] for vector in expected]
        )
        changed += int((steered[0] != steered[1]).sum())
        # Right for some prompts with the first vector, for others with the second.
        answer = torch.where(torch.arange(6) % 2 == 0, steered[0], steered[1])
        right = right_answers(adapt(model), asked, answer, 5 * found, layer=layer)
        assert torch.equal(right, steered == answer)
    assert changed > 0


def test_the_number_of_prompts_in_a_forward_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    model, tokens = adapt(shared_toy(n_layers=3).model), random_tokens(7, 4)
    vectors = 5 * function_vectors(model, [tokens], SETS)
    answer = model.logits(tokens).argmax(-1)
    together = right_answers(model, tokens, answer, vectors, layer=1)
    assert together.any()
    assert not together.all()
    monkeypatch.setattr("headcats.papers.function_vector.accuracy._ROWS", 4)
    assert torch.equal(right_answers(model, tokens, answer, vectors, layer=1), together)
    torch.testing.assert_close(5 * function_vectors(model, [tokens], SETS), vectors)


def sign_test(differences: torch.Tensor) -> float:
    """Chance that as many of the prompts that differ lie above 0, if both signs are as likely."""
    above, n = int((differences > 0).sum()), int((differences != 0).sum())
    return sum(math.comb(n, k) for k in range(above, n + 1)) / 2**n


def test_numbers_of_a_task_by_hand() -> None:
    model = adapt(shared_toy("llama", n_layers=3).model)
    shown = [Rows(random_tokens(4, 5), torch.zeros(4, dtype=torch.long), tuple("abcd"))]
    tokens = random_tokens(20, 2, seed=3)
    base = model.logits(tokens).argmax(-1)
    # Without a vector right on all but 4 prompts.
    answer = torch.where(torch.arange(20) < 4, (base + 1) % 60, base)
    asked = [Rows(tokens[:9], answer[:9], tuple(map(str, range(9)))),
             Rows(tokens[9:], answer[9:], tuple(map(str, range(9, 20))))]  # fmt: skip
    sets = [SETS[0], SETS[1], (Head(2, 2),)]
    table = steered_task(model, shown, asked, sets, task="t", seed=0)
    assert float(table["base"]) == 0.8
    assert float(table["base_low"]) == pytest.approx(0.584, abs=0.001)  # Wilson, 16 of 20
    assert float(table["base_high"]) == pytest.approx(0.919, abs=0.001)
    assert int(table["n"]) == 20
    assert table["control"].dims == ("layer", "draw")
    apart = 0
    vectors = function_vectors(model, [shown[0].tokens], sets)
    for layer in range(3):
        right = right_answers(model, tokens, answer, vectors, layer=layer).double()
        here = table.sel(layer=layer)
        assert float(here["accuracy"]) == float(right[0].mean())
        np.testing.assert_allclose(here["control"], right[1:].mean(1))
        np.testing.assert_allclose(here["gain"], right[0].mean() - 0.8)
        np.testing.assert_allclose(here["excess"], right[0].mean() - right[1:].mean())
        assert here["low"] <= here["accuracy"] <= here["high"]
        assert here["gain_low"] <= here["gain"] <= here["gain_high"]
        unsteered = (base == answer).double()
        p_values = [sign_test(right[0] - other) for other in (unsteered, right[1:].mean(0))]
        assert float(here["p_value"]) == pytest.approx(max(p_values))
        apart += p_values[0] != p_values[1]
    assert apart > 0
    assert (table["p_value"] > 0.5).all()  # nothing is raised above .8 by a random vector


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
