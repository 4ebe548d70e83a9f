"""Texts of any lengths as passes through the model, and what cannot be one."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from gate_toys import token_batch
from toy_cases import shared_toy

from headcats.base.errors import DataError, ModelError
from headcats.models.adapter import HookedModel, adapt
from headcats.papers.head_gating.texts import gate_texts
from headcats.prompts.answered import AnsweredText
from headcats.prompts.pair import Span
from headcats.statistics.random_streams import stream


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
