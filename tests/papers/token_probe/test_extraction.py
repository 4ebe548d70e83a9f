"""Exact answers that the model copies out of wrong answers."""

from typing import Any

import pytest
from scripted import ScriptedModel, spaced_tokenizer

from headcats.papers.token_probe import answers as answering
from headcats.papers.token_probe import extraction
from headcats.papers.token_probe.answers import answer_questions
from headcats.papers.token_probe.extraction import extracted, gives_none
from headcats.papers.token_probe.items import AnsweredItem, Question
from headcats.papers.token_probe.settings import PRESETS

CODE = PRESETS["orgad2025-code"]


def saying(*answers: str) -> tuple[ScriptedModel, list[Question]]:
    """A model with these answers to as many questions, whose right answer is 8 5."""
    tokenizer = spaced_tokenizer()
    script, questions = {}, []
    for number, answer in enumerate(answers):
        prompt = f"{number} plus 1 →"
        ids = (0, *tokenizer(prompt, add_special_tokens=False)["input_ids"])
        script[ids] = tuple(tokenizer(answer, add_special_tokens=False)["input_ids"])
        questions.append(Question(prompt, "8 5", aliases=("9 9",)))
    return ScriptedModel(script), questions


def test_a_wrong_answer_is_copied_out_by_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    model, questions = saying(*(f"the sum is {exact} now and then" for exact in ("8 5", "9 9", "8 6", "1 2", "3 4")))
    asked: list[tuple[str, str]] = []

    def copied(model: Any, questions: list[str], texts: list[str], *, limit: int) -> list[str]:
        asked.extend(zip(questions, texts, strict=True))
        return ["8 6", "NO ANSWER", "7 7"]

    monkeypatch.setattr(answering, "extracted", copied)
    answers, report = answer_questions(model, questions, CODE)
    assert [(answer.exact, answer.wrong) for answer in answers] == [("8 5", False), ("9 9", False), ("8 6", True)]
    assert [question for question, _ in asked] == [question.prompt for question in questions[2:]]
    assert list(report.dropped.values()) == [1, 1]
    ready = AnsweredItem("4 plus 4 →", "the sum is 1 2 now", "", True)
    monkeypatch.setattr(answering, "extracted", lambda *_, **__: ["1 2"])
    (answer,), _ = answer_questions(model, [ready], CODE)
    assert (answer.exact, answer.wrong) == ("1 2", True)


def test_what_the_model_writes_is_cut_to_the_short_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extraction, "_PROMPT", "{question} the sum is {answer} now")
    tokenizer = spaced_tokenizer()

    def ids(text: str) -> tuple[int, ...]:
        return tuple(tokenizer(text, add_special_tokens=False)["input_ids"])

    model = ScriptedModel({(0, *ids("1 plus the sum is 8 5 now")): ids("8 5 then")})
    assert extracted(model, ["1 plus", "unheard"], ["8\n5", "8 6"], limit=9) == ["8 5 then", ""]


def test_a_tokenizer_without_the_words_of_the_prompt_is_not_asked() -> None:
    model, _ = saying("the sum is 8 6 now")
    assert extracted(model, ["1"], ["8 6"], limit=9) == [""]
    assert [gives_none(text) for text in ("NO ANSWER", "no_answer ", "no answers", "")] == [True, True, False, False]
