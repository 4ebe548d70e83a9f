"""Prompts of a script: roles of token ids, and texts; what is refused, and in which words."""

from typing import Any

import pytest
import torch
from toys import WORDS, Toy, tiny_model, word_tokenizer

from headcats.base.errors import DataError, ModelError
from headcats.models.adapter import HookedModel
from headcats.prompts.batch import PromptBatch
from headcats.sweeps.batch_sweep import sweep

CLEAN, CORRUPTED = ["w1 → w2,w3 →", "w4 → w5,w6 →"], ["w1 → w7,w3 →", "w4 → w8,w6 →"]
IDS = [[0, 5, 6, 7], [0, 8, 9, 7]], [[0, 5, 4, 7], [0, 8, 3, 7]]


@pytest.fixture(scope="module")
def toy() -> Toy:
    return tiny_model("gpt2", n_layers=2)


def texts(source: Any, **changes: Any) -> PromptBatch:
    fields = {"clean": CLEAN, "corrupted": CORRUPTED, "answer": [" w10", " w11"], "distractor": [" w12", " w13"]}
    return PromptBatch.from_texts(source, **{**fields, **changes})


def words(ids: torch.Tensor) -> list[list[str]]:
    return [[WORDS[token] for token in row] for row in ids.tolist()]


class TestTexts:
    def test_are_tokens_with_bos_in_front_once(self, toy: Toy) -> None:
        batch = texts(toy.model)
        assert words(batch.clean)[0] == ["<bos>", "w1", "→", "w2", ",", "w3", "→"]
        assert words(batch.corrupted)[1] == ["<bos>", "w4", "→", "w8", ",", "w6", "→"]
        assert words(batch.answers) == [["w10"], ["w11"]]
        assert words(batch.distractors) == [["w12"], ["w13"]]
        assert batch.keys == batch.items == ("prompt 0", "prompt 1")
        assert (batch.labels, batch.task) == (None, "")

    def test_of_a_model_an_adapter_or_a_tokenizer(self, toy: Toy) -> None:
        marks = {texts(source).fingerprint() for source in (toy.model, HookedModel(toy.model), word_tokenizer())}
        assert len(marks) == 1

    def test_one_prompt_may_be_a_text(self, toy: Toy) -> None:
        one = texts(toy.model, clean=CLEAN[0], corrupted=CORRUPTED[0], answer=" w10", distractor=" w12")
        assert torch.equal(one.clean, texts(toy.model).clean[:1])

    def test_clean_and_corrupted_may_differ_in_length(self, toy: Toy) -> None:
        batch = texts(toy.model, corrupted=[f"w9,{text}" for text in CORRUPTED], items=["a", "a"])
        assert (batch.length, batch.corrupted.shape[1], batch.items) == (7, 9, ("a", "a"))
        assert sweep(toy.model, batch, "denoising_patch").sizes["prompt"] == 2

    def test_answers_have_any_number_of_tokens_and_share_what_they_begin_with(self, toy: Toy) -> None:
        several = texts(toy.model, answer=[" w10,w20", " w11"])
        assert words(several.answers)[0] == ["w10", ",", "w20"]
        shared = texts(toy.model, answer=[" w10,w20", " w11,w20"], distractor=[" w10,w21", " w11,w21"])
        assert [row[-2:] for row in words(shared.clean)] == [["w10", ","], ["w11", ","]]
        assert words(shared.answers) == [["w20"], ["w20"]]

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"clean": CLEAN[:1]}, "1 clean and 2 of corrupted"),
            ({"clean": [], "corrupted": []}, "at least one"),
            ({"clean": [[1, 2], [3, 4]]}, "got a list.*from_tokens"),
            ({"answer": [" w10", " unheard"]}, "'unheard' in 'prompt 1'"),
            ({"answer": ["w10", " w11"], "clean": ["w1 is", "w4 is"]}, "'prompt 0'.*leading space"),
            ({"clean": [CLEAN[0], "w4 →"]}, r"\(prompt 0\); 3 and 7"),
            ({"clean": ["w1 " + "→" * 80] * 2}, "the context"),
        ],
    )
    @pytest.mark.usefixtures("unchecked_types")
    def test_what_cannot_be_one_batch(self, toy: Toy, changes: dict[str, Any], message: str) -> None:
        source = HookedModel(toy.model, tokenizer=word_tokenizer())
        with pytest.raises(DataError, match=message):
            texts(source, **changes)

    def test_a_model_without_a_tokenizer(self, toy: Toy) -> None:
        model = HookedModel(toy.model)
        model.tokenizer = None
        with pytest.raises(ModelError, match="no tokenizer"):
            texts(model)


class TestLabels:
    def test_of_all_prompts_or_of_each(self) -> None:
        roles = ["bos", "x1", "x1", "y1"]
        for labels in (roles, [roles, roles]):
            batch = PromptBatch.from_tokens(*IDS, [10, 11], [12, 13], labels=labels)
            assert batch.labels == batch.corrupted_labels == (("bos", "x1[0/2]", "x1[1/2]", "y1"),) * 2
            assert batch.positions("x1").tolist() == [[False, True, True, False]] * 2
        own = PromptBatch.from_tokens(*IDS, [10, 11], [12, 13], labels=[roles, ["bos", "x1", "y1", "end"]])
        assert own.positions("y1").tolist() == [[False, False, False, True], [False, False, True, False]]

    @pytest.mark.parametrize(
        ("labels", "message"),
        [
            (["bos", "x1", "y1"], "expected 4 .*got 2 of 3"),
            (["bos", "last", "y1", "end"], "called 'last'"),
            (["bos", "x[0/2]", "y1", "end"], r"without '\['"),
            (["bos", "", "y1", "end"], "a name"),
            (7, "list of roles"),
        ],
    )
    @pytest.mark.usefixtures("unchecked_types")
    def test_what_does_not_name_every_token(self, labels: Any, message: str) -> None:
        with pytest.raises(DataError, match=message):
            PromptBatch.from_tokens(*IDS, [10, 11], [12, 13], labels=labels)

    def test_prompts_of_two_lengths_have_none(self) -> None:
        with pytest.raises(DataError, match="4 and 5 tokens"):
            PromptBatch.from_tokens(IDS[0], [[0, 1, 2, 3, 4]] * 2, [10, 11], [12, 13], labels=["a", "b", "c", "d"])
