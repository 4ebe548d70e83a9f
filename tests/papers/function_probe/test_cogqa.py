"""Files of CogQA: a task per function, and what is left out."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tasks.files.layout_files import write
from tasks.files.test_fuzz import damaged, loads_or_refuses

import headcats as hc
from headcats.base.errors import DataError


def step(skill: str, answer: Any, question: str = "Which?") -> dict[str, Any]:
    return {"subquestion": question, "answer": answer, "cognitive_skill": skill}


COGQA = [
    {
        "question": "Lee mowed 16 lawns at $33 each. How much did he earn?",
        "answer": "528",
        "generated": [step("Retrieval", 16), step("Retrieval", "$33"), step("Math Calculation", "$528")],
    },
    {
        "question": "Kim read 4 books of 100 pages. How many pages?",
        "answer": "400",
        "generated": [step("Retrieval", ""), step("Induction", "many"), step("Math Calculation", 400)],
    },
]


def test_cogqa_gives_a_task_per_function(tmp_path):
    suite = hc.suite(write(tmp_path / "cogqa.json", COGQA))
    assert [(task.name, task.category) for task in suite.tasks] == [
        ("retrieval", "Retrieval"), ("math_calculation", "Math Calculation"),
    ]  # fmt: skip
    retrieval, calculation = suite.tasks
    assert retrieval.drops.dropped == {"no answer": 1}
    pair = min(calculation.pairs(10, seed=0), key=lambda pair: pair.key)
    assert pair.key == "entry 1 step 3"
    question, *lines = pair.clean.split("\n")
    assert question == f"Question: {COGQA[0]['question']}"
    assert lines == ["Step: Which?", "Answer: 16", "Step: Which?", "Answer: $33", "Step: Which?", "Answer:"]
    assert pair.corrupted.startswith("Question: Kim read")
    assert (pair.answer, pair.distractor, pair.item) == (" $528", " 400", COGQA[0]["question"])
    n_steps = sum(len(entry["generated"]) for entry in COGQA)
    assert suite.drops.kept + sum(suite.drops.dropped.values()) == n_steps
    ((reason, count),) = suite.left_out.dropped.items()
    assert ("'Induction'" in reason, count, suite.left_out.kept) == (True, 1, 0)
    assert suite.drops.dropped == {"no answer": 1, reason: 1}


def test_a_function_with_one_answer_is_left_out_and_counted(tmp_path):
    entries = [{**COGQA[0], "generated": [*COGQA[0]["generated"], step("Inference", "so")]}, COGQA[1]]
    suite = hc.suite(write(tmp_path / "cogqa.jsonl", "\n".join(map(json.dumps, entries))))
    assert [task.name for task in suite.tasks] == ["retrieval", "math_calculation"]
    assert suite.left_out.dropped.popitem()[1] == 1


@given(data=st.data())
def test_a_file_with_damage(data: st.DataObject) -> None:
    loads_or_refuses("fuzz.json", damaged(json.dumps(COGQA).encode(), data))


def test_a_step_without_a_field_is_named(tmp_path):
    with pytest.raises(DataError, match=r"step\.json, entry 1, step 1: field 'sub"):
        hc.suite(write(tmp_path / "step.json", [{**COGQA[0], "generated": [{"answer": "a"}]}]))
