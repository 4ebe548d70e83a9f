"""Texts to ids and back; what it means for prompts is tested with `headcats.prompts.encode`."""

import logging
from typing import Any

import pytest
from tokenizer_zoo import ZOO, trained
from tokenizers.processors import TemplateProcessing
from toys import word_tokenizer

from headcats.base.errors import DataError
from headcats.prompts.tokens import (
    bos_of,
    encode,
    encode_with_bos,
    encode_with_ends,
    token_texts,
    unknown_id,
    unknown_text,
)


def test_texts_longer_than_the_context_are_no_matter_for_warnings(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The caller drops and counts them."""
    monkeypatch.setattr(logging.getLogger("transformers"), "propagate", True)
    caplog.set_level(logging.WARNING, logger="transformers")  # loading a model leaves it higher
    tokenizer = word_tokenizer()
    tokenizer.model_max_length = 2
    assert encode(tokenizer, ["w1 → w2\n"]) == [[7, 3, 8, 4]]
    assert encode_with_ends(tokenizer, ["w1 → w2\n"]) == [([7, 3, 8, 4], [2, 4, 7, 8])]
    assert caplog.text == ""
    tokenizer("w1 → w2\n")
    assert "specified maximum" in caplog.text  # else this test would see nothing


def test_special_tokens() -> None:
    tokenizer = word_tokenizer()
    assert (bos_of(tokenizer), unknown_id(tokenizer)) == ([0], 1)
    tokenizer.eos_token = "<unk>"
    assert unknown_id(tokenizer) is None
    assert encode(tokenizer, []) == encode_with_ends(tokenizer, []) == []


@pytest.mark.parametrize(("n_bos", "is_fast"), [(0, True), (1, False), (2, True), (2, False)])
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

    assert bos_of(Insists()) == [0] * max(n_bos, 1)
    assert encode(Insists(), ["w1 → w2\n"]) == [[7, 3, 8, 4]]
    assert encode_with_ends(Insists(), ["w1,w2"]) == [([7, 5, 8], [2, 3, 5])]
    for bos in ("written", "own"):
        (in_front, *_), *_ = encode_with_bos(Insists(), ["w1,w2"], bos=[bos])
        assert in_front == [0] * n_bos


def test_what_a_tokenizer_lacks_is_shown() -> None:
    tokenizer = word_tokenizer()
    assert unknown_text(tokenizer, ["w1 → w2", "w1 → house\nw2 → tree"]) == "house"
    assert unknown_text(tokenizer, ["The w1 → w2"]) == "The w1"  # it splits at arrows, not at spaces
    assert unknown_text(tokenizer, ["w1 → w2"]) == ""


def test_bos_is_put_in_front_or_taken_from_the_text() -> None:
    tokenizer = word_tokenizer()
    texts = ["<bos>w1,w2", "w1,w2", "<bos><bos>w1,w2"]
    ids, ends = [7, 5, 8], ([7, 8, 10], [2, 3, 5], [12, 13, 15])
    put = encode_with_bos(tokenizer, texts, bos=["once"] * 3)
    assert put == [([0], ids, ends[row]) for row in range(3)]
    written = encode_with_bos(tokenizer, texts, bos=["written"] * 3)
    assert written == [([0] * n, ids, ends[row]) for row, n in enumerate([1, 0, 2])]
    assert [[*bos, *rest] for bos, rest, _ in written] == tokenizer(texts, add_special_tokens=False)["input_ids"]
    assert encode_with_bos(tokenizer, texts, bos=["written", "once", "once"]) == [written[0], *put[1:]]


@pytest.mark.parametrize(
    ("pattern", "front"), [("$A", []), ("<bos> $A", [0]), ("<pad> <bos> $A", [2, 0]), ("<bos> $A <pad>", [0])], ids=str
)
def test_bos_is_where_the_tokenizer_itself_puts_it(pattern: str, front: list[int]) -> None:
    """Without what it puts behind the text, where a model would not go on."""
    tokenizer = word_tokenizer()
    special = [("<bos>", 0), ("<pad>", 2)]
    tokenizer._tokenizer.post_processor = TemplateProcessing(single=pattern, special_tokens=special)
    encoded = encode_with_bos(tokenizer, ["w1,w2", "w3", "w1"], bos=["own", "once", "own"])
    assert encoded == [(front, [7, 5, 8], [2, 3, 5]), (front or [0], [9], [2]), (front, [7], [2])]
    assert bos_of(tokenizer) == (front or [0])


def test_other_special_tokens_than_the_tokenizer_writes_are_said_once(caplog: pytest.LogCaptureFixture) -> None:
    tokenizer = word_tokenizer()
    encode_with_bos(tokenizer, ["w1"] * 3, bos=["written", "own", "once"])
    tokenizer._tokenizer.post_processor = TemplateProcessing(single="<pad> $A", special_tokens=[("<pad>", 2)])
    encode_with_bos(tokenizer, ["<pad>w1", "w1", "w1"], bos=["written", "own", "once"])
    assert caplog.records == []
    encode_with_bos(tokenizer, ["w1", "w2"], bos=["written"] * 2)
    assert [record.args for record in caplog.records] == [("no special token", "'<pad>'")]


def test_a_tokenizer_that_cuts_words_otherwise_with_its_special_tokens_is_refused() -> None:
    inner = word_tokenizer()

    class Restless:
        bos_token_id, eos_token_id, unk_token_id, is_fast = 0, None, 1, False

        def __call__(self, texts: list[str], add_special_tokens: bool = True, **options: Any) -> dict[str, Any]:
            ids = inner(texts, add_special_tokens=False)["input_ids"]
            return {"input_ids": [[0, *reversed(row)] for row in ids] if add_special_tokens else ids}

    with pytest.raises(DataError, match=r"\[0, 8, 5, 7\].*bos=\"once\""):
        encode_with_bos(Restless(), ["w1,w2"], bos=["own"])


def test_ends_without_offsets_are_those_of_the_offsets() -> None:
    """Special tokens are made of characters that are tokens of their own until the last one is read."""
    for name in ("byte-level", "SentencePiece BPE, no prefix space", "WordPiece"):
        fast = ZOO[name]()
        fast.add_special_tokens({"additional_special_tokens": ["<|im_start|>", "<|im_end|>"]})

        class Slow:
            bos_token_id, is_fast = fast.bos_token_id, False

            def __call__(self, texts: list[str], fast: Any = fast, **options: Any) -> dict[str, Any]:
                return {"input_ids": fast(texts, **options)["input_ids"]}

        text = "<|im_start|>user\nSouth Korea<|im_end|>\n<|im_start|>assistant\nSeoul é"
        assert encode_with_ends(Slow(), [text]) == encode_with_ends(fast, [text]), name


TEXTS = [
    "France → Paris\nItaly → Rome\nChile →",
    "Q: 12345  é naïve\n\nA:",
    "  two blanks, and two behind  ",
    "首都 of 日本 is 東京 👩‍🚀",
    "tab\there, [bold]markup[/] and \x1b[31mescapes",
]


@pytest.mark.parametrize("name", ZOO)
def test_joined_they_are_the_text(name):
    tokenizer = trained(name)
    for text in TEXTS:
        (ids,) = encode(tokenizer, [text])
        texts = token_texts(tokenizer, ids, text=text)
        assert len(texts) == len(ids)
        assert "".join(texts) == text
        for n in range(len(ids)):
            assert token_texts(tokenizer, ids[:n], text=text) == texts[:n]


def test_each_is_what_its_token_says():
    tokenizer = trained("byte-level")
    text = "France: Paris\nItaly:"
    (ids,) = encode(tokenizer, [text])
    assert token_texts(tokenizer, ids, text=text) == [tokenizer.decode([token]) for token in ids]


def test_a_character_of_several_tokens_is_the_text_of_the_first():
    tokenizer = trained("byte-level")
    (ids,) = encode(tokenizer, ["a東b"])
    assert token_texts(tokenizer, ids, text="a東b") == ["a", "東", "", "", "b"]
    assert token_texts(tokenizer, [], text="") == []


def test_tokens_of_another_text_are_decoded():
    tokenizer = trained("byte-level")
    (ids,) = encode(tokenizer, ["France: Paris"])
    assert "".join(token_texts(tokenizer, ids, text="something else")) == "France: Paris"
