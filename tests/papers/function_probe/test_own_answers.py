"""The model's own answers: those that transformers writes, marked; what cannot be continued is counted."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from decoded import last_z_of_each_step
from toys import tiny_model

from headcats.models.adapter import HookedModel
from headcats.papers.function_probe.answer_tokens import own_answers
from headcats.papers.function_probe.features import head_features
from headcats.papers.function_probe.settings import FunctionProbeSettings
from headcats.prompts.answered import AnsweredText

LIMIT = 6


def text(prompt: str, answer: str = "w1", **fields: str) -> AnsweredText:
    return AnsweredText(prompt + answer, [(len(prompt), len(prompt + answer))], category="f", **fields)


@pytest.fixture(scope="module")
def world() -> tuple[HookedModel, Any]:
    toy = tiny_model("llama")
    return HookedModel(toy.model, tokenizer=toy.tokenizer), toy.oracle


def written_by(oracle: Any, prompt: list[int], *, ends: set[int]) -> list[int]:
    """The most probable token again and again, without a cache."""
    tokens: list[int] = []
    while len(tokens) < LIMIT:
        with torch.no_grad():
            token = int(oracle(torch.tensor([[*prompt, *tokens]])).logits[0, -1].argmax())
        if token in ends:
            break
        tokens.append(token)
    return tokens


def test_they_are_the_greedy_continuations_of_the_prompts(world: tuple[HookedModel, Any]) -> None:
    model, oracle = world
    tokenizer = model.tokenizer
    texts = [text(f"w{number},w{number + 1}→", item=f"item {number}") for number in range(12)]
    found = own_answers(model, texts, limit=LIMIT)
    expected = {}
    for number, given in enumerate(texts):
        prompt = [0, *tokenizer(f"w{number},w{number + 1}→", add_special_tokens=False)["input_ids"]]
        expected[given.item] = prompt, written_by(oracle, prompt, ends={4})
    kept = {one.item: one for one in found.texts}
    assert list(kept) == [item for item, (_, answer) in expected.items() if answer]
    assert found.report.kept == len(found.texts) == sum(map(len, found.batches))
    assert sum(found.report.dropped.values()) == 12 - len(found.texts)
    assert found.cut == sum(len(answer) == LIMIT for _, answer in expected.values())
    for batch in found.batches:
        for one, row, targets in zip(batch.texts, batch.tokens.tolist(), batch.targets.tolist(), strict=True):
            prompt, answer = expected[one.item]
            assert row == [*prompt, *answer]
            assert targets == [False] * len(prompt) + [True] * len(answer)
            assert one is kept[one.item]
            assert one.text[slice(*one.spans[0])] == tokenizer.decode(answer, clean_up_tokenization_spaces=False)
            assert one.category == "f"


def test_right_ones_are_counted_and_wrong_ones_kept(world: tuple[HookedModel, Any]) -> None:
    model, _ = world
    wrong = [text(f"w{number}→", "w53") for number in range(6)]
    found = own_answers(model, wrong, limit=2)
    right = [replace(one, text=one.text.upper().replace("W", "w")) for one in found.texts]
    again = own_answers(model, right, limit=2)
    assert len(found.texts) == found.report.kept > 0
    assert (found.right, again.right) == (0, len(again.texts))


def test_what_cannot_be_continued_is_counted_by_reason(world: tuple[HookedModel, Any]) -> None:
    model, _ = world
    long = text("w1," * 40 + "→", key="long")
    found = own_answers(model, [text("nobody→", key="odd"), long, text("w3→")], limit=2)
    assert [found.report.examples[reason] for reason in found.report.dropped] == ["'odd'", "'long'"]
    assert found.report.kept == 1


def test_features_are_read_where_each_token_is_written(world: tuple[HookedModel, Any]) -> None:
    model, oracle = world
    texts = [text(f"w{number},w{number + 1}→", item=f"item {number}") for number in range(8)]
    settings = FunctionProbeSettings(answers="generated", max_new_tokens=3, top_tokens=0)
    shares: list[float] = []
    found = head_features(model, texts, settings=settings, advance=shares.append)
    written = own_answers(model, texts, limit=3)
    assert found.texts == written.texts
    assert found.own == {"right": written.right, "cut": written.cut}
    assert all(0 <= share <= 1 for share in shares)
    rows = {one.item: row for batch in written.batches for one, row in zip(batch.texts, batch.tokens, strict=True)}
    steps = last_z_of_each_step(oracle, rows[found.texts[0].item].tolist(), n_prompt=5)[:-1]
    for number, head in enumerate(found.heads):
        z = torch.stack([step[head.layer].reshape(4, -1)[head.head] for step in steps]).mean(0)
        torch.testing.assert_close(found.values[0, number, : len(z)], z, rtol=0, atol=1e-6)
