"""Token roles of ready answers against the authors' positions, written anew and word by word."""

import itertools
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scripted import ScriptedModel, spaced_tokenizer
from tokenizers import Tokenizer, decoders, models
from transformers import PreTrainedTokenizerFast

from headcats.papers.token_probe.answers import answer_questions
from headcats.papers.token_probe.items import AnsweredItem, Question
from headcats.papers.token_probe.settings import PRESETS

CODE = PRESETS["orgad2025-code"]
PIECES = ["a", "b", "ab", "ba", " a", " b", " ab", "A", "B", " ", ".", "?"]


def shortest_span(tokenizer: Any, ids: Sequence[int], exact: str, start: int) -> list[int]:
    """Of all spans of the answer that decode to the exact answer's first spelling, the one that ends first; of those,
    the shortest."""
    answer = tokenizer.decode(ids[start:])
    wanted = re.search(re.escape(exact.strip().lower()), answer.lower())
    assert wanted is not None
    spelling = answer[slice(*wanted.span())]
    spans = [
        (end, end - first)
        for first, end in itertools.combinations(range(start, len(ids) + 1), 2)
        if spelling in tokenizer.decode(ids[first:end])
    ]
    end, size = min(spans)
    return list(range(end - size, end))


def literal_position(role: str, q_len: int, n: int, exact: list[int]) -> int:
    """`get_token_index` of the authors' code; places from the end as Python counts them."""
    places = {
        "last_q": q_len - 1,
        "first_answer": q_len,
        "second_answer": q_len + 1,
        "exact_answer_before_first": exact[0] - 1,
        "exact_answer_first": exact[0],
        "exact_answer_last": min(n - 1, exact[-1]),
        "exact_answer_after_last": min(n - 1, exact[-1] + 1),
    }
    return places[role] if role in places else range(n)[int(role)]


def merging_tokenizer() -> Any:
    """Pieces of several letters, with and without a space in front, as those of language models."""
    vocabulary = {piece: place for place, piece in enumerate(["<bos>", *PIECES])}
    merges = [("a", "b"), ("b", "a"), (" ", "a"), (" ", "b"), (" ", "ab")]
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=merges))
    tokenizer.decoder = decoders.Fuse()
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<bos>", eos_token="<bos>")


def test_roles_are_those_of_the_authors() -> None:
    draws, tokenizer = np.random.default_rng(0), merging_tokenizer()
    model = ScriptedModel({})
    model.tokenizer = tokenizer
    items, left = [], 0
    for number in range(150):
        prompt = "".join(draws.choice(PIECES, 9)) + f"?{'a' * (number % 7)}{'b' * (number // 7)}"
        text = "".join(draws.choice(PIECES, draws.integers(3, 9)))
        start = int(draws.integers(len(text)))
        exact = text[start : start + int(draws.integers(1, 4))]
        if exact.strip() and len(prompt) < 40:
            items.append(AnsweredItem(prompt, text, exact.swapcase(), bool(draws.integers(2))))
    settings = replace(CODE, roles=(*CODE.roles[:3], *CODE.roles[3:7], *CODE.roles[-8:]))
    answers, report = answer_questions(model, items, settings)
    assert len(answers) > 60
    for answer in answers:
        q_len = answer.shape.q_len
        exact = shortest_span(tokenizer, list(answer.tokens), answer.question.exact_answer, q_len)  # type: ignore[union-attr]
        for role in settings.roles:
            literal = literal_position(role, q_len, len(answer.tokens), exact)
            assert answer.shape.position(role) == literal, (role, answer)
        left += answer.shape.first == q_len or answer.shape.last == answer.shape.length - 1
    # Among them answers that the preset of the paper's map leaves out, where roles coincide.
    assert left > 15
    assert report.kept == len(answers)


def test_the_token_that_ended_an_answer() -> None:
    tokenizer = spaced_tokenizer()
    prompt, said = "4 7 plus 3 8 →", "the sum is 8 5 now"
    asked, spoken = (tuple(tokenizer(text, add_special_tokens=False)["input_ids"]) for text in (prompt, said))
    model = ScriptedModel({(0, *asked): spoken})
    for item in (Question(prompt, said, r"\d \d"), AnsweredItem(prompt, f"{said} \n", "8 5", False)):
        (with_end,), _ = answer_questions(model, [item], replace(CODE, roles=("-1",)))
        (without,), _ = answer_questions(model, [item], PRESETS["orgad2025"])
        assert with_end.tokens == (*without.tokens, model.newline)
        assert without.tokens == (0, *asked, *spoken)
        assert with_end.tokens[with_end.shape.position("-1")] == model.newline
        assert with_end.shape.position("exact_answer_last") == without.shape.position("exact_answer_last")
