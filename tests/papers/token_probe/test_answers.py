"""From questions to judged answers: what is kept, copied out by the model, or left out and why."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from scripted import EXACT, ScriptedModel, spaced_tokenizer

from headcats.base.errors import DataError, ModelError, UnknownNameError
from headcats.models.adapter import HookedModel
from headcats.papers.token_probe import answers as answering
from headcats.papers.token_probe.answers import (
    AnswerShape,
    answer_questions,
    coinciding_roles,
    decoded,
    encoded_questions,
    extracted,
    tokens_of,
)
from headcats.papers.token_probe.items import AnsweredItem, Question, find_exact, gives_none, same_answer
from headcats.papers.token_probe.settings import EXACT_ROLES, NAMED_ROLES, PRESETS
from headcats.prompts.drop_report import DropReport

PAPER = PRESETS["orgad2025"]
RIGHT = "the sum is 8 5 now"
CODE = PRESETS["orgad2025-code"]


def judged_by_digits(prompt: str) -> Question:
    return Question(prompt, RIGHT, EXACT)


def judged_by_texts(prompt: str) -> Question:
    return Question(prompt, "8 5", aliases=("9 9",))


def model_saying(
    *answers: str, ask: Callable[[str], Question] = judged_by_digits
) -> tuple[ScriptedModel, list[Question]]:
    """A model that gives these answers to as many questions, whose right answer is always 8 5."""
    tokenizer = spaced_tokenizer()
    script, questions = {}, []
    for number, answer in enumerate(answers):
        prompt = f"{' '.join(str(100 + number))} plus 1 →"
        ids = (0, *tokenizer(prompt, add_special_tokens=False)["input_ids"])
        script[ids] = tuple(tokenizer(answer, add_special_tokens=False)["input_ids"])
        questions.append(ask(prompt))
    return ScriptedModel(script), questions


def test_answers_are_judged_by_their_exact_part() -> None:
    surely = "surely the sum is 8 5 then"
    model, questions = model_saying(RIGHT, surely, "the sum is 8 6 now", "the sum is 1 8 5 now")
    answers, report = answer_questions(model, questions, PAPER)
    assert [one.wrong for one in answers] == [False, False, True, True]
    assert [one.exact for one in answers] == ["8 5", "8 5", "8 6", "1 8 5"]
    assert answers[1].generated == surely
    # <bos> 1 0 0 plus 1 →: seven tokens; "the sum is" stands before the exact answer.
    assert [(one.shape.q_len, one.shape.first, one.shape.last, one.shape.length) for one in answers] == [
        (7, 10, 11, 13),
        (7, 11, 12, 14),
        (7, 10, 11, 13),
        (7, 10, 12, 14),
    ]
    assert all(len(one.tokens) == one.shape.length and not one.cut for one in answers)
    assert (report.kept, report.dropped) == (4, {})


def test_a_prompt_may_bring_its_own_special_tokens() -> None:
    model, (question,) = model_saying(RIGHT)
    written = replace(question, prompt=f"<bos>{question.prompt}", bos="written")
    twice = replace(question, prompt=f"<bos><bos>{question.prompt}", bos="written")
    (answer,), _ = answer_questions(model, [written], PAPER)
    assert answer.tokens == answer_questions(model, [question], PAPER)[0][0].tokens
    prompts = [tokens for _, tokens, _ in encoded_questions(model, [written, question, twice], DropReport())]
    assert prompts[0] == prompts[1] == prompts[2][1:]
    with pytest.raises(DataError, match="of the 1"):
        answer_questions(model, [replace(question, bos="written", prompt="unheard")], PAPER)
    with pytest.raises(UnknownNameError, match="'always'"):
        replace(question, bos="always")


def test_what_is_left_out_is_counted_by_reason() -> None:
    model, questions = model_saying(
        RIGHT, RIGHT, RIGHT, RIGHT, RIGHT, RIGHT, "the sum is now then", "is 8 5 now", "the sum is 5 now then",
        "8 5 is the sum now", "the sum is 8 5",
    )  # fmt: skip
    first = questions[0]
    questions += [first, Question("1 plus unheard →", RIGHT, EXACT), Question("1 " * 60 + "→", RIGHT, EXACT)]
    answers, report = answer_questions(model, questions, PAPER)
    assert len(answers) == report.kept == 6
    reasons = ["asked", "unknown", "context", "in the output", "than 5 tokens", "than 2 tokens", "start", "end of"]
    assert len(report.dropped) == len(reasons)
    for reason in reasons:
        assert [count for key, count in report.dropped.items() if reason in key] == [1], reason
    assert "'the sum is" in report.summary()


def test_roles_that_coincide_in_most_answers_are_refused_by_name() -> None:
    model, questions = model_saying(RIGHT, "8 5", "9 5")
    with pytest.raises(DataError, match="2 of 3 answers") as problem:
        answer_questions(model, questions, PAPER, preset="orgad2025")
    message = str(problem.value)
    assert "answer_first in 2" in message
    assert "'orgad2025'" in message
    assert "5 tokens" in message


def test_an_answer_that_never_ends_is_cut_and_counted() -> None:
    model, questions = model_saying("the sum is 8 5 " + "now " * 80)
    answers, _ = answer_questions(model, questions, PAPER)
    # Seven tokens of question; the context of 64 ends before the limit of the answer does.
    assert answers[0].cut
    assert answers[0].shape.length == 64


def test_no_answer_at_all_is_refused() -> None:
    model, questions = model_saying("the sum is now then")
    with pytest.raises(DataError, match=": 0 kept; 1 no exact"):
        answer_questions(model, questions, PAPER)
    bare = HookedModel(model.model)
    bare.tokenizer = None
    with pytest.raises(ModelError, match="no tokenizer"):
        answer_questions(bare, questions, PAPER)
    with pytest.raises(DataError, match="No question"):
        answer_questions(model, [], PAPER)
    with pytest.raises(DataError, match="of the 1"):
        answer_questions(model, [Question("unheard", RIGHT, EXACT)], PAPER)


def test_a_tokenizer_that_loses_the_exact_answer_is_noticed() -> None:
    model, questions = model_saying(RIGHT)
    split = Question(questions[0].prompt, "the sum is 85 now", r"\d+")
    with pytest.raises(DataError, match="word unknown"):
        answer_questions(model, [split], PAPER)
    model.tokenizer.add_tokens(["85"])
    joined = Question(questions[0].prompt, "the sum is 8 5 now", r"\d \d")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(model.tokenizer), "decode", lambda self, ids, **options: "".join(map(str, ids)))
        with pytest.raises(DataError, match="exact answer"):
            answer_questions(model, [joined], PAPER)


def test_tokens_are_found_in_what_the_tokenizer_writes() -> None:
    tokenizer = spaced_tokenizer()
    ids = tokenizer(RIGHT, add_special_tokens=False)["input_ids"]
    text, stops = decoded(tokenizer, ids)
    assert (text, stops) == (RIGHT, [3, 7, 10, 12, 14, 18])
    assert tokens_of(find_exact(EXACT, text) or (0, 0), stops) == [3, 4]
    assert decoded(tokenizer, []) == ("", [])
    # "the" 0-3, " sum" 3-7, " is" 7-10, " 85" 10-13, "." 13-14
    spans = {(11, 13): [3], (8, 13): [2, 3], (14, 14): []}
    assert {span: tokens_of(span, [3, 7, 10, 13, 14]) for span in spans} == spans


def test_the_exact_answer_is_the_first_match_or_its_group() -> None:
    assert find_exact(r"\d+", "a 12 b 3") == (2, 4)
    assert find_exact(r"is (\d+)", "sum is 12 of 3") == (7, 9)
    assert find_exact(r"\d*", "none") is None
    assert same_answer("8 5", "85")
    assert not same_answer("8 5", "8 6")
    assert Question("1 →", RIGHT, EXACT).exact_answer == "8 5"
    assert Question("1 →", RIGHT, EXACT).item == "1 →"


def test_shapes_whose_roles_coincide() -> None:
    last, after = "exact_answer_last", EXACT_ROLES[-1]
    for values, problem, pairs in (
        # Four tokens: the third is exact, so three roles are one token.
        ((6, 10, 8, 8), "than 5 tokens", {("exact_answer_first", last)}),
        ((6, 12, 9, 9), "than 2 tokens", {("exact_answer_first", last)}),
        ((6, 12, 6, 8), "at the start", {("last_q", EXACT_ROLES[0]), ("first_answer", "exact_answer_first")}),
        ((6, 12, 10, 11), "at the end", {(last, after)}),
        ((1, 7, 3, 4), "shorter than its", set()),
        ((6, 11, 8, 9), "", set()),
    ):
        shape = AnswerShape(*values)
        assert problem in shape.problem(PAPER)
        assert bool(problem) == bool(shape.problem(PAPER))
        assert pairs <= set(coinciding_roles([shape]))
    # The shortest answer allowed: the token before the exact answer is also the second of the answer.
    assert set(coinciding_roles([shape])) == {(NAMED_ROLES[2], NAMED_ROLES[3])}
    assert AnswerShape(3, 8, 6, 7).position(after) == 7  # inside a text that ends with the exact answer


def test_a_wrong_answer_is_copied_out_by_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    said = [f"the sum is {exact} now and then" for exact in ("8 5", "9 9", "8 6", "1 2", "3 4")]
    model, questions = model_saying(*said, ask=judged_by_texts)
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
    monkeypatch.setattr(answering, "_PROMPT", "{question} the sum is {answer} now")
    tokenizer = spaced_tokenizer()

    def ids(text: str) -> tuple[int, ...]:
        return tuple(tokenizer(text, add_special_tokens=False)["input_ids"])

    model = ScriptedModel({(0, *ids("1 plus the sum is 8 5 now")): ids("8 5 then")})
    assert extracted(model, ["1 plus", "unheard"], ["8\n5", "8 6"], limit=9) == ["8 5 then", ""]


def test_a_tokenizer_without_the_words_of_the_prompt_is_not_asked() -> None:
    model, _ = model_saying("the sum is 8 6 now")
    assert extracted(model, ["1"], ["8 6"], limit=9) == [""]
    assert [gives_none(text) for text in ("NO ANSWER", "no_answer ", "no answers", "")] == [True, True, False, False]
