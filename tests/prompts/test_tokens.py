"""Texts to ids; what it means for prompts is tested with `headcats.prompts.encode`."""

import logging
from typing import Any

import pytest
from toys import word_tokenizer

from headcats.prompts.tokens import bos_of, encode, encode_with_ends, unknown_id


class Recorder(logging.Handler):
    """Records messages."""

    def __init__(self) -> None:
        super().__init__()
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())


@pytest.fixture
def warned():
    """What transformers logs; it passes nothing on to the root logger."""
    handler, logger = Recorder(), logging.getLogger("transformers")
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.WARNING)  # loading a model leaves it higher
    yield handler.messages
    logger.setLevel(level)
    logger.removeHandler(handler)


def test_texts_longer_than_the_context_are_no_matter_for_warnings(warned: list[str]) -> None:
    """The caller drops and counts them."""
    tokenizer = word_tokenizer()
    tokenizer.model_max_length = 2
    assert encode(tokenizer, ["w1 → w2\n"]) == [[7, 3, 8, 4]]
    assert encode_with_ends(tokenizer, ["w1 → w2\n"]) == [([7, 3, 8, 4], [2, 4, 7, 8])]
    assert warned == []
    tokenizer("w1 → w2\n")
    assert "specified maximum" in warned[0]  # else this test would see nothing


def test_special_tokens() -> None:
    tokenizer = word_tokenizer()
    assert (bos_of(tokenizer), unknown_id(tokenizer)) == ([0], 1)
    tokenizer.eos_token = "<unk>"
    assert unknown_id(tokenizer) is None
    assert encode(tokenizer, []) == encode_with_ends(tokenizer, []) == []


@pytest.mark.parametrize("n_bos", [0, 1, 2])
@pytest.mark.parametrize("is_fast", [True, False])
def test_bos_that_nobody_asked_for_is_taken_off(n_bos: int, is_fast: bool) -> None:
    inner = word_tokenizer()

    class Insists:
        bos_token_id, eos_token_id, unk_token_id = 0, None, 1

        def __init__(self) -> None:
            self.is_fast = is_fast

        def __call__(self, texts: list[str], **options: Any) -> dict[str, Any]:
            plain = inner(texts, **options)
            ids = [[0] * n_bos + row for row in plain["input_ids"]]
            offsets = [[(0, 0)] * n_bos + row for row in plain.get("offset_mapping", [])]
            return {"input_ids": ids, "offset_mapping": offsets}

    assert bos_of(Insists()) == [0]
    assert encode(Insists(), ["w1 → w2\n"]) == [[7, 3, 8, 4]]
    # Without offsets, a token ends where the shortest text with as many tokens does.
    assert encode_with_ends(Insists(), ["w1,w2"]) == [([7, 5, 8], [2, 3, 5] if is_fast else [1, 3, 4])]
