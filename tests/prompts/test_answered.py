"""Texts with marked answers as tokens: every token in its place, and nothing lost without being counted."""

import re
from collections import Counter

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from headcats.base.errors import DataError
from headcats.prompts.answered import AnsweredBatch, AnsweredText, encode_answered, few_shot_texts
from headcats.prompts.pair import Span
from headcats.prompts.template import ARROW


@pytest.fixture
def tokenizer(mini):
    return mini.tokenizer


def text(prompt: str, answer: str, **more: str) -> AnsweredText:
    return AnsweredText(prompt + answer, (Span(len(prompt), len(prompt + answer)),), **more)


def test_the_answer_is_marked_and_the_boundary_token_stands_in_front(tokenizer) -> None:
    (batch,), report = encode_answered([text("France →", " Paris"), text("Italy →", " Rome")], tokenizer)
    assert report.summary() == "2 kept"
    assert batch.tokens[:, 0].tolist() == [tokenizer.bos_token_id] * 2
    assert batch.targets.tolist() == [[False, False, False, True]] * 2
    assert tokenizer.convert_ids_to_tokens(batch.tokens[0].tolist())[1:] == ["France", "→", "Paris"]
    assert [text.text for text in batch.texts] == ["France → Paris", "Italy → Rome"]


def test_several_spans(tokenizer) -> None:
    two_lines = "France → Paris\nItaly → Rome"
    spans = (Span(8, 14), Span(len(two_lines) - 5, len(two_lines)))
    (batch,), _ = encode_answered([AnsweredText(two_lines, spans)], tokenizer)
    marked = batch.tokens[batch.targets].tolist()
    assert tokenizer.convert_ids_to_tokens(marked) == ["Paris", "Rome"]


def test_lengths_are_kept_apart_in_their_order(tokenizer) -> None:
    texts = [text("a →", " b"), text("a → b\nc →", " d"), text("b →", " c")]
    batches, _ = encode_answered(texts, tokenizer)
    assert [[text.text for text in batch.texts] for batch in batches] == [["a → b", "b → c"], ["a → b\nc → d"]]


def test_what_cannot_be_used_is_counted_with_its_reason(tokenizer) -> None:
    texts = [
        text("France →", " Paris"),
        text("Atlantis →", " Paris", key="atlantis"),
        text("a → b\nc → d\ne →", " f", key="long"),
    ]
    batches, report = encode_answered(texts, tokenizer, n_ctx=6)
    assert sum(map(len, batches)) == report.kept == 1
    assert list(report.dropped.values()) == [1, 1]
    assert list(report.examples.values()) == ["'atlantis'", "'long'"]
    assert [reason.split()[0] for reason in report.dropped] == ["word", "longer"]


def test_an_answer_between_two_tokens_is_none(tokenizer) -> None:
    batches, report = encode_answered([AnsweredText("France → Paris", (Span(0, 3),))], tokenizer)
    assert batches == []
    (reason,) = report.dropped
    assert "no token" in reason


def test_spans_outside_the_text_are_refused() -> None:
    with pytest.raises(DataError, match="'why' marks"):
        AnsweredText("abcde", (), key="why")
    for span in (Span(3, 99), Span(2, 2), Span(-1, 2)):
        with pytest.raises(DataError, match=r"'why': target 2 .* 5 char"):
            AnsweredText("abcde", (Span(0, 5), span), key="why")


def test_a_slip_in_the_targets_shows_their_form() -> None:
    for slip in ((2, 5), 2, "ab", [(2, 5, 6)], [2, 5], [("2", "5")], None):
        # Built without __init__, whose types are checked in tests alone.
        malformed = object.__new__(AnsweredText)
        for name, value in {"text": "abcdefg", "spans": slip, "key": ""}.items():
            object.__setattr__(malformed, name, value)
        with pytest.raises(DataError, match=rf"\[\(2, 5\)\]\); got {re.escape(repr(slip))}\."):
            malformed.__post_init__()


def test_targets_may_come_in_a_list() -> None:
    text = AnsweredText("abcdefg", [(2, 5)])
    assert text == AnsweredText("abcdefg", (Span(2, 5),))
    assert text.spans == (Span(2, 5),)
    assert hash(text) == hash(AnsweredText("abcdefg", (Span(2, 5),)))


def test_batches_of_tokens() -> None:
    tokens, texts = torch.arange(6).reshape(2, 3), (AnsweredText("?", [(0, 1)]),) * 2
    targets = torch.tensor([[False, True, False], [False, False, True]])
    assert AnsweredBatch(tokens, targets, texts).select([1]).tokens.tolist() == [[3, 4, 5]]
    with pytest.raises(DataError, match=r"see prompt 1\."):
        AnsweredBatch(tokens, targets & torch.tensor([[True], [False]]), texts)
    with pytest.raises(DataError, match=r"\(2, 3\), targets \(2, 3\) and 1 texts"):
        AnsweredBatch(tokens, targets, texts[:1])


PAIRS = [(letter, letter.upper()) for letter in "abcdefg"]


def made(pairs=PAIRS, *, n=10, n_demos=2, template=ARROW, seed=0, purpose="test"):
    return few_shot_texts(
        pairs, n=n, n_demos=n_demos, template=template, seed=seed, task="capitals", category="Letters", purpose=purpose
    )


@settings(max_examples=30, deadline=None)
@given(n=st.integers(1, 40), n_demos=st.integers(0, 6), seed=st.integers(0, 99))
def test_every_prompt_is_what_it_says(n, n_demos, seed) -> None:
    texts = made(n=n, n_demos=n_demos, seed=seed)
    assert len(texts) == n
    for text in texts:
        lines = text.text.split("\n")
        assert len(lines) == len(set(lines)) == n_demos + 1  # the query is not among its demonstrations
        assert all(line == f"{line[0]} → {line[0].upper()}" for line in lines)
        ((start, stop),) = text.spans
        assert text.text[start:stop] == f" {text.item.upper()}"
        assert stop == len(text.text)
        assert (text.task, text.category) == ("capitals", "Letters")
    queries = Counter(text.item for text in texts)
    assert max(queries.values()) - min(queries.values(), default=0) <= 1 or len(queries) < len(PAIRS)
    assert len({text.key for text in texts}) == n


def test_streams() -> None:
    assert made() == made()
    assert made(purpose="other") != made()
    assert made(seed=1) != made()


def test_too_few_pairs() -> None:
    with pytest.raises(DataError, match=r"'capitals' has 7 .* needs 8"):
        made(n_demos=7)
