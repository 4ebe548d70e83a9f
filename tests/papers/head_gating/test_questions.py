"""Texts of questions: one example first, shuffled options, clusters, and every row accounted for."""

from pathlib import Path
from typing import Any

import pytest

from headcats.base.errors import DataError, OptionError, StatisticsWarning
from headcats.papers.head_gating.questions import question_texts

EXAMPLE = "kept as an example"
ANSWER = " It is 2.\nSo 2."


def questions(n: int = 14, *, options: int = 4) -> list[dict[str, Any]]:
    """Of growing length, so that the first ones are the examples."""
    return [
        {
            "question": f"Which is number {'x' * place}{place}?",
            "choices": {"label": list("ABCDE"[:options]), "text": [f"n{place} {k}" for k in range(options)]},
            "answerKey": "B",
        }
        for place in range(n)
    ]


def blocks(text: str) -> list[str]:
    """The example and the question."""
    return [f"Question: {block}" for block in text.split("Question: ")[1:]]


def test_one_example_comes_first_and_is_never_asked() -> None:
    texts, report = question_texts(questions(), n_examples=3, instruction="Give the letter.")
    examples = {f"n{place} 1" for place in range(3)}
    shown = set()
    for text in texts:
        start, end = text.spans[0]
        assert text.text.startswith("Give the letter.\nQuestion: ")
        assert end == len(text.text)
        example, asked = blocks(text.text)
        for block in (example, asked):
            *_, answer = block.split()
            (right,) = [line[3:] for line in block.splitlines() if line.startswith(f"{answer}. ")]
            assert right.endswith(" 1")
            assert (right in examples) == (block is example)
            shown |= {right} if block is example else set()
        assert text.text[start:end] == f" {answer}"
    assert shown == examples
    assert (len(texts), report.kept, report.dropped) == (11, 11, {EXAMPLE: 3})
    assert len(question_texts(questions())[0]) == 4, "ten examples by default"


def test_orders_are_different_and_the_letter_follows_the_answer() -> None:
    texts, report = question_texts(questions(4), n_examples=1, n_orders=24)
    of_one = [text for text in texts if text.item == texts[0].item]
    assert len(of_one) == 24
    assert len({blocks(text.text)[1] for text in of_one}) == 24
    assert {text.text[-1] for text in of_one} == set("ABCD")
    assert len({text.item for text in texts}) == report.kept == 3
    assert of_one[1].key.endswith("record 2, order 2")
    two = question_texts(questions(4, options=2), n_examples=1, n_orders=9)[0]
    assert len(two) == 3 * 2, "no more than there are"


def test_a_question_is_the_same_whichever_others_are_drawn() -> None:
    whole = {text.key: text for text in question_texts(questions(30), n_examples=2)[0]}
    some, report = question_texts(questions(30), n_examples=2, n_questions=6)
    assert len(some) == 6
    assert all(whole[text.key] == text for text in some)
    assert report.dropped == {EXAMPLE: 2, "not drawn": 22}
    other = question_texts(questions(30), n_examples=2, n_questions=6, seed=1)[0]
    assert {text.key for text in other} != {text.key for text in some}
    again = {text.key: text for text in question_texts(questions(30), n_examples=2, seed=1)[0]}
    assert again.keys() == whole.keys()
    assert again != whole


def test_finished_prompts_are_taken_as_they_are(tmp_path: Path) -> None:
    rows = ["prompt\ttarget\tpattern", '" a^ b^ a\n c^ d^"\t c\tABA', '" a^ b^ b\n c^ d^"\t d\tABB']
    (tmp_path / "aba_abb.tsv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    texts, report = question_texts(tmp_path / "aba_abb.tsv")
    assert [text.text for text in texts] == [" a^ b^ a\n c^ d^ c", " a^ b^ b\n c^ d^ d"]
    assert [text.text[slice(*text.spans[0])] for text in texts] == [" c", " d"]
    assert [(text.category, text.item, text.task) for text in texts] == [("ABA", "", "aba_abb"), ("ABB", "", "aba_abb")]
    assert (report.kept, report.dropped) == (2, {})


def test_answers_in_words_are_whole() -> None:
    rows = [{"problem": f"{n} + 1?", "generated_solution": f"It is {n + 1}.\nSo {n + 1}."} for n in range(3)]
    texts, _ = question_texts(rows, n_examples=1)
    asked = texts[0].text.removesuffix(ANSWER)
    assert asked.splitlines() == ["Question: 0 + 1?", "Answer: It is 1.", "So 1.", "Question: 1 + 1?", "Answer:"]
    assert texts[0].text[slice(*texts[0].spans[0])] == ANSWER


def test_what_cannot_be_asked_is_counted_by_reason() -> None:
    rows = questions(24)
    del rows[2]["answerKey"]
    rows[3]["answerKey"] = "E"
    rows[4]["choices"] = {"label": ["B"], "text": ["one"]}
    rows[5]["choices"]["text"][0] = rows[5]["choices"]["text"][1]
    rows[6]["question"] = " "
    rows[7] = rows[8]
    rows[9] = rows[10] | {"answerKey": "C"}
    rows[11]["choices"] = None
    texts, report = question_texts(rows, n_examples=2)
    assert sorted(report.dropped.values()) == [1, 1, 1, 1, 1, 1, 1, 2, 2]
    assert (report.dropped["no answer key"], report.dropped["one option"], report.dropped[EXAMPLE]) == (1, 1, 2)
    assert len(texts) == report.kept == 24 - 11
    assert report.examples["no answer key"].endswith("record 3")


@pytest.mark.usefixtures("unchecked_types")
def test_too_few_questions_and_wrong_numbers() -> None:
    with pytest.raises(DataError, match=r"4 examples: .*n_examples=1"):
        question_texts(questions(4))
    with pytest.warns(StatisticsWarning, match=r" 100 .*: 4 kept; 10 "):
        texts, report = question_texts(questions(), n_questions=100)
    assert len(texts) == report.kept == 4
    for options in ({"n_orders": 0}, {"n_examples": 0}, {"n_questions": 0}, {"instruction": 3}):
        with pytest.raises(OptionError, match=rf"{next(iter(options))} must be"):
            question_texts(questions(), **options)
