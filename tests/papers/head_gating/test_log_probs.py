"""Texts as tokens, log-probabilities under gates and their gradients, and that the model notices nothing."""

import threading
from dataclasses import replace
from typing import Any

import pytest
import torch
from architectures import ARCHITECTURES, tiny_bridge
from covering import some
from gate_toys import token_batch
from literal_gates import log_prob, rows_of
from toy_cases import TOYS, left_as_it_is, shared_toy
from toys import Toy, tiny_model

from headcats.base.errors import DataError, ModelError
from headcats.models.adapter import HookedModel, adapt
from headcats.papers.chosen_logits import logits_at
from headcats.papers.gradients import leaving_no_graph
from headcats.papers.head_gating import log_probs as module
from headcats.papers.head_gating.log_probs import (
    gate_edits,
    gate_texts,
    log_prob_gradient,
    mean_log_prob,
    texts_at_once,
)
from headcats.prompts.answered import AnsweredText
from headcats.prompts.pair import Span
from headcats.statistics.random_streams import stream

DATA = (token_batch(3, 7, targets=(2, 3, 6)), token_batch(2, 5, seed=1), token_batch(1, 9, seed=2, targets=(1,)))


def some_gates(n_layers: int = 2, *, seed: int = 0) -> torch.Tensor:
    return torch.rand(n_layers, 4, generator=torch.Generator().manual_seed(seed))


def gradient(model: HookedModel, *, at_once: int = 64) -> tuple[float, torch.Tensor]:
    texts = gate_texts(model, list(DATA), name="data")
    theta = torch.logit(some_gates(len(model.layers))).requires_grad_()
    with leaving_no_graph(model):
        log_probs, of_theta = log_prob_gradient(model, texts, range(len(texts)), theta, at_once=at_once)
    return float(log_probs.mean()), of_theta


@pytest.mark.parametrize(("layout", "backend"), TOYS)
def test_texts_of_many_lengths_are_averaged_text_by_text(layout: Any, backend: Any) -> None:
    """And gradients are those of all texts together, whatever goes through the model at once."""
    toy = tiny_model(layout, backend, n_layers=2)
    model, gates = adapt(toy.model), some_gates()
    found = mean_log_prob(model, gate_texts(model, list(DATA), name="data"), gates, at_once=2)
    with torch.no_grad():
        assert found == pytest.approx(float(log_prob(toy.model, rows_of(*DATA), gates)), abs=1e-6)
    theta = torch.logit(gates).requires_grad_()
    expected = log_prob(toy.model, rows_of(*DATA), theta.sigmoid())
    of_theta = torch.autograd.grad(expected, theta)[0]
    for at_once in (1, 2, 64):
        value, found = gradient(model, at_once=at_once)
        assert value == pytest.approx(float(expected.detach()), abs=1e-6)
        assert (found - of_theta).abs().max() < 1e-6
        assert found.abs().min() > 1e-6


@pytest.mark.parametrize("name", some(["bamba", "mixtral", "gemma2", "gptj", "qwen3", "bloom"], 2))
def test_other_architectures(name: str) -> None:
    assert name in ARCHITECTURES
    model = adapt(tiny_bridge(name))
    texts, theta = gate_texts(model, list(DATA), name="data"), torch.logit(some_gates(len(model.layers)))
    _, found = gradient(model)
    step = 0.01 * torch.sign(found)
    sides = [mean_log_prob(model, texts, (theta + sign * step).sigmoid(), at_once=64) for sign in (1, -1)]
    assert sides[0] - sides[1] == pytest.approx(float(2 * (found * step).sum()), rel=0.05)


def test_gates_act_on_the_heads_that_a_layer_has() -> None:
    class Uneven(HookedModel):
        layers, n_heads = (1, 4), {1: 2, 4: 3}  # one of them replaces a property

        def __init__(self) -> None:
            pass

    edits = gate_edits(Uneven(), torch.tensor([[0.5, 0.0, 9.0], [1.0, 0.25, 2.0]]))
    assert edits["blocks.1.attn.hook_z"](torch.ones(1, 2, 2, 1)).flatten().tolist() == [0.5, 0.0] * 2
    assert edits["blocks.4.attn.hook_z"](torch.ones(1, 1, 3, 1)).flatten().tolist() == [1.0, 0.25, 2.0]
    assert edits["blocks.4.attn.hook_z"](torch.ones(1, 1, 3, 1, dtype=torch.bfloat16)).dtype == torch.bfloat16


def test_passes_keep_no_more_than_they_may(monkeypatch: pytest.MonkeyPatch) -> None:
    model = adapt(shared_toy().model)
    texts = gate_texts(model, list(DATA), name="data")
    assert texts.longest == 0  # of the text with nine tokens, only the second is to be predicted
    monkeypatch.setattr(module, "KEPT_BYTES", 1)
    assert texts_at_once(model, texts) == 1
    monkeypatch.setattr(module, "KEPT_BYTES", 1 << 20)
    few = texts_at_once(model, texts)
    monkeypatch.setattr(module, "KEPT_BYTES", 1 << 24)
    assert 1 < 15 * few <= texts_at_once(model, texts) <= 17 * few + 17
    short = gate_texts(model, [token_batch(2, 3)], name="data")
    assert texts_at_once(model, short) > texts_at_once(model, texts) == texts_at_once(model, short, texts)


class TestModelIsLeftAsItIs:
    def test_weights_gradients_and_hooks(self, toy: Toy) -> None:
        with left_as_it_is(toy):
            gradient(adapt(toy.model))

    def test_a_caller_without_gradients_gets_them(self, toy: Toy) -> None:
        expected = gradient(adapt(toy.model))[1]
        for context in (torch.no_grad, torch.inference_mode):
            with context():
                model = adapt(toy.model)
                texts = gate_texts(model, [token_batch(3, 7, targets=(2, 3, 6)), *DATA[1:]], name="data")
                with leaving_no_graph(model):
                    theta = torch.logit(some_gates()).requires_grad_()
                    found = log_prob_gradient(model, texts, range(len(texts)), theta, at_once=64)[1]
            assert torch.equal(found, expected)

    def test_weights_are_frozen_under_the_lock_and_thawed_after_an_error(self, monkeypatch: pytest.MonkeyPatch) -> None:
        model, seen = adapt(shared_toy().model), []

        def failing(*args: Any, **options: Any) -> Any:
            thread = threading.Thread(target=lambda: seen.append(model.lock.acquire(blocking=False)))
            thread.start()
            thread.join()
            seen.append(any(weight.requires_grad for weight in model.model.parameters()))
            raise RuntimeError("of the model")

        monkeypatch.setattr("headcats.papers.head_gating.log_probs.logits_at", failing)
        with pytest.raises(RuntimeError, match="of the model"):
            gradient(model)
        assert seen == [False, False]
        assert all(weight.requires_grad for weight in model.model.parameters())

    def test_a_model_without_gradients_is_refused(self, monkeypatch: pytest.MonkeyPatch) -> None:
        model = adapt(shared_toy().model)
        name = "headcats.papers.head_gating.log_probs.logits_at"
        monkeypatch.setattr(name, lambda *args, **options: logits_at(*args, **options).detach())
        with pytest.raises(ModelError, match="no gradient"):
            gradient(model)


@pytest.fixture(scope="module")
def model() -> HookedModel:
    toy = shared_toy(n_layers=1)
    return HookedModel(toy.model, tokenizer=toy.tokenizer)


def text(given: str, answer: str, **more: Any) -> AnsweredText:
    whole = f"{given} → {answer}"
    return AnsweredText(whole, (Span(len(given) + 2, len(whole)),), **more)


def test_texts_are_encoded_and_their_targets_found(model: HookedModel) -> None:
    texts = gate_texts(model, [text("w1", "w2"), text("w3", "w4,w5"), text("w9", "w7")], name="some")
    assert len(texts) == 3
    ((tokens, targets), *_) = texts.rows
    assert tokens.tolist() == [0, 7, 3, 8]  # bos w1 → w2
    assert targets.tolist() == [False, False, False, True]
    assert texts.left_out == ""


def test_one_length_goes_together_and_nothing_after_the_last_target(model: HookedModel) -> None:
    data = [token_batch(3, 7), token_batch(2, 9, targets=(2, 6)), token_batch(2, 5)]
    texts = gate_texts(model, data, name="some")
    passes = list(texts.passes([6, 0, 3, 2, 4, 1], at_once=3))
    assert [tuple(one.tokens.shape) for one in passes] == [(1, 4), (3, 6), (2, 6)]
    one = passes[2]  # places 4 and 1: predicted are positions 2 and 6 of the one, 6 of the other
    assert one.tokens[0].tolist() == data[1].tokens[1, :6].tolist()
    assert one.predicts.tolist() == [
        [False, True, False, False, False, True], [False, False, False, False, False, True],
    ]  # fmt: skip
    assert one.following[one.predicts].tolist() == [*data[1].tokens[1, [2, 6]].tolist(), int(data[0].tokens[1, 6])]


def test_items_are_held_out_whole(model: HookedModel) -> None:
    data = [text(f"w{i}", f"w{j}", item=f"w{i}", task="t") for i in range(8) for j in range(3)]
    fitted, held = gate_texts(model, data, name="some").split(0.25, stream(0, "a"))
    assert len(fitted) == 18
    assert len(held) == 6
    assert not set(fitted.items) & set(held.items)
    again, _ = gate_texts(model, data, name="some").split(0.25, stream(0, "a"))
    assert again.items == fitted.items
    assert len(set(gate_texts(model, [token_batch(3), token_batch(2)], name="some").items)) == 5


def test_at_least_one_item_is_held_out_and_one_is_not(model: HookedModel) -> None:
    for share in (0.01, 0.99):
        parts = gate_texts(model, [token_batch(2)], name="some").split(share, stream(0, "a"))
        assert [len(part) for part in parts] == [1, 1]
    with pytest.raises(DataError, match="got 2 texts of 1"):
        gate_texts(model, [text("w1", "w2", item="x"), text("w1", "w3", item="x")], name="n").split(0.5, stream(0, "a"))


def test_what_cannot_be_encoded_is_told(model: HookedModel) -> None:
    kept = gate_texts(model, [text("w1", "w2"), text("new", "w2", key="strange")], name="some")
    assert len(kept) == 1
    assert "'strange'" in kept.left_out
    with pytest.raises(DataError, match=r"'some' .*: 0 kept; 1 "):
        gate_texts(model, [text("new", "w2")], name="some")
    with pytest.raises(DataError, match="longer"):
        gate_texts(model, [text(",".join(["w1"] * 40), "w2")], name="some")


def test_bad_data(model: HookedModel) -> None:
    good = token_batch(3)
    for data, message in [
        ([], "got nothing"),
        ([good, text("w1", "w2")], "got AnsweredBatch, AnsweredText"),
        (["w1"], "got str"),
        ([replace(good, tokens=good.tokens + 60)], "knows ids 0 to 59"),
    ]:
        with pytest.raises(DataError, match=message):
            gate_texts(model, data, name="some")
    with pytest.raises(DataError, match="spans characters"):  # before anything is fitted
        AnsweredText("w1", (Span(0, 3),))


def test_texts_need_a_tokenizer_and_tokens_do_not() -> None:
    model = adapt(shared_toy(n_layers=1).model)
    model.tokenizer = None
    assert len(gate_texts(model, [token_batch(3)], name="some")) == 3
    with pytest.raises(ModelError, match="has no tokenizer"):
        gate_texts(model, [text("w1", "w2")], name="some")
    assert torch.equal(gate_texts(model, [token_batch(3)], name="some").rows[1][0], token_batch(3).tokens[1])
