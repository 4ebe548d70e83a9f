"""Questions of public files, and their texts: one example first, shuffled options, and every row accounted for."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from for_each import for_each
from pyarrow import parquet

from headcats.base.errors import DataError, OptionError, StatisticsWarning
from headcats.papers.head_gating.question_files import LAYOUTS
from headcats.papers.head_gating.questions import Question, question_texts, read_questions
from headcats.tasks.files.task_rows import DUPLICATE

EXAMPLE = "kept as an example"
ANSWER = " It is 2.\nSo 2."
CHOICES = {"label": ["A", "B", "C"], "text": ["bank", "tree", "sea"]}
ROWS: dict[str, dict[str, Any]] = {
    "CommonsenseQA": {"id": "1", "question": "Where is money?", "choices": CHOICES, "answerKey": "A"},
    "CommonsenseQA, lines": {
        "answerKey": "A",
        "question": {
            "stem": "Where is money?",
            "choices": [{"label": key, "text": text} for key, text in zip("ABC", CHOICES["text"], strict=True)],
        },
    },
    "BIG-bench": {"input": "Where is money?", "target_scores": {"tree": 0, " bank": 1, "sea": 0}},
    "BIG-bench, table": {
        "inputs": "Where is money?",
        "multiple_choice_targets": ["tree", "bank", "sea"],
        "multiple_choice_scores": [0, 1, 0],
    },
    "options, text": {"question": "Where is money?", "choices": ["tree", "bank", "sea"], "answer": "bank"},
    "options, as text": {"question": "Where is money?", "choices": "['tree', 'bank', 'sea']", "answer": "bank"},
    "CommonsenseQA, as text": {"question": "Where is money?", "choices": json.dumps(CHOICES), "answerKey": "A"},
    "options, columns": {"question": "Where is money?", "A": "tree", "B": "bank", "C": "sea", "answer": "B"},
    "options, number": {"question": "Where is money?", "choices": np.array(["tree", "bank", "sea"]), "answer": 1},
}


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


@for_each("layout", ROWS)
def test_every_layout_gives_the_same_question(layout: str) -> None:
    (found,) = read_questions([ROWS[layout]])
    assert found == Question(1, "Where is money?", "bank", ("bank", "sea", "tree"))
    assert found.item == f"{found.text}\nbank"


def test_files_are_read_unchanged(tmp_path: Path) -> None:
    task = {"name": "syntax", "examples": [{**ROWS["BIG-bench"], "comment": "x"}], "metrics": ["multiple_choice_grade"]}
    (tmp_path / "task.json").write_text(json.dumps(task), encoding="utf-8")
    lines = [ROWS["CommonsenseQA, lines"]] * 2
    (tmp_path / "train.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    parquet.write_table(pa.Table.from_pylist([ROWS["CommonsenseQA"]]), tmp_path / "train.parquet")
    (tmp_path / "pairs.csv").write_text("question,answer\nOne?,1\nTwo?,2\n", encoding="utf-8")
    read = {name: list(read_questions(tmp_path / name)) for name in ("task.json", "train.jsonl", "train.parquet")}
    assert all([question.answer for question in found] == ["bank"] for found in read.values())
    assert read_questions(str(tmp_path / "train.jsonl")).rows.report.dropped == {DUPLICATE: 1}
    assert list(read_questions(tmp_path / "pairs.csv")) == [Question(2, "One?", "1"), Question(3, "Two?", "2")]


def test_solutions_are_those_of_problems_with_a_final_answer() -> None:
    rows = [
        {"problem": "1 + 1?", "generated_solution": "It is 2.", "expected_answer": "2"},
        {"problem": "1 + 1?", "generated_solution": "Two.", "expected_answer": "2"},
        {"problem": "1 + 2?", "generated_solution": "Three.", "expected_answer": ""},
    ]
    found = read_questions(rows)
    assert list(found) == [Question(1, "1 + 1?", "It is 2.")]
    assert found.rows.report.dropped.pop("no answer key") == 1
    assert list(found.rows.report.dropped.values()) == [1]  # another answer to the same problem


def test_a_fixed_question_with_other_options_is_another_item() -> None:
    """As in BIG-bench's hyperbaton, where the options alone differ."""
    options = [("a big dog", "a dog big"), ("an old cat", "a cat old")]
    rows = [{"input": "Which order is right?", "target_scores": {right: 1, wrong: 0}} for right, wrong in options]
    assert len({question.item for question in read_questions(rows)}) == 2


def test_what_is_no_file_of_questions(tmp_path: Path) -> None:
    (tmp_path / "words.csv").write_text("french,german\nun,eins\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"words\.csv: .*'french'.*'answerkey'"):
        read_questions(tmp_path / "words.csv")
    for nothing in (None, 3):
        with pytest.raises(DataError, match=f"got {nothing}"):
            read_questions(nothing)
    with pytest.raises(DataError, match="no file"):
        read_questions(tmp_path / "none.json")
    with pytest.raises(DataError, match=r"0 kept; 1 .*record 1\)"):
        read_questions([ROWS["CommonsenseQA"] | {"answerKey": ""}])
    assert len(LAYOUTS) == 9
