"""Questions of public files: every layout, what is dropped, and several languages in one file."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from for_each import for_each
from pyarrow import parquet

from headcats.base.errors import DataError
from headcats.papers.head_gating.question_files import Question, read_questions
from headcats.tasks.files.kept_rows import DUPLICATE
from headcats.tasks.files.questions import LAYOUTS

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


def test_rows_in_another_language_than_most_are_counted() -> None:
    asked = ["What is it?", "Что это такое?", "Where?", "Was ist π?"]
    rows = [{"question": text, "answer": f"a {number}"} for number, text in enumerate(asked)]
    found = read_questions(rows)
    assert [question.number for question in found] == [1, 3, 4]
    ((reason, count),) = found.rows.report.dropped.items()
    assert ("CYRILLIC" in reason, count, found.rows.report.kept) == (True, 1, 3)
    named = [row | {"lang": lang} for row, lang in zip(rows, ["en", "en", "en", "de"], strict=True)]
    assert [question.number for question in read_questions(named)] == [1, 2, 3]


def test_a_row_without_letters_and_japanese_in_either_script_are_of_one_language() -> None:
    asked = ["日本国憲法?", "これはなに?", "テレビ?", "1 + 1?", "What?"]
    read = read_questions([{"question": text, "answer": str(number)} for number, text in enumerate(asked)])
    assert [question.number for question in read] == [1, 2, 3, 4]
    ((reason, count),) = read.rows.report.dropped.items()
    assert ("LATIN, most are CJK" in reason, count) == (True, 1)


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
    with pytest.raises(DataError, match="no such file"):
        read_questions(tmp_path / "none.json")
    with pytest.raises(DataError, match=r"0 kept; 1 .*record 1\)"):
        read_questions([ROWS["CommonsenseQA"] | {"answerKey": ""}])
    assert len(LAYOUTS) == 8
