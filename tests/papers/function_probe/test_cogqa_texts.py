import json
from pathlib import Path
from typing import Any

import pytest
from toys import word_tokenizer

from headcats.base.errors import DataError, OptionError
from headcats.papers.function_probe.cogqa_prompts import cogqa_texts

ENTRY: dict[str, Any] = {
    "question": "Lee mowed 16 lawns at $33 each. How much did he earn?",
    "answer": "16 * 33 = 528",
    "generated": [
        {"subquestion": "How many lawns did Lee mow?", "answer": 16, "cognitive_skill": "retrieval"},
        {"subquestion": "What does a lawn cost?", "answer": "", "cognitive_skill": "Retrieval"},
        {"subquestion": "How much did he earn?", "answer": " $528 ", "cognitive_skill": "MATH_CALCULATION"},
    ],
}


def write(folder: Path, content: Any, name: str = "cogqa.json") -> Path:
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def test_every_step_with_an_answer_becomes_a_text_after_the_steps_before_it(tmp_path: Path) -> None:
    texts, report = cogqa_texts(write(tmp_path, [ENTRY]))
    first, last = texts
    assert first.text == f"Question: {ENTRY['question']}\nStep: {ENTRY['generated'][0]['subquestion']}\nAnswer: 16"
    assert last.text.startswith(f"{first.text}\nStep: {ENTRY['generated'][1]['subquestion']}\nStep: How")
    assert [text.text[slice(*text.spans[0])] for text in texts] == [" 16", " $528"]
    assert [text.category for text in texts] == ["Retrieval", "Math Calculation"]
    assert [text.key for text in texts] == ["entry 1 step 1", "entry 1 step 3"]
    assert {text.item for text in texts} == {ENTRY["question"]}
    assert {text.task for text in texts} == {"cogqa"}
    assert (report.kept, report.dropped) == (2, {"no answer": 1})


def test_json_lines_single_entries_and_wrapped_entries_give_the_same_texts(tmp_path: Path) -> None:
    second = {**ENTRY, "question": "Another\u2028question?"}
    plain = cogqa_texts(write(tmp_path, [ENTRY, second]))[0]
    lines = "\n".join(json.dumps(entry, ensure_ascii=False) for entry in (ENTRY, second))
    assert cogqa_texts(write(tmp_path, f"{lines}\n\n", "cogqa.jsonl"))[0] == plain
    assert cogqa_texts(write(tmp_path, [[ENTRY], [second]]))[0] == plain
    assert cogqa_texts(str(write(tmp_path, ENTRY)))[0] == plain[:2]
    assert cogqa_texts(write(tmp_path, "\ufeff" + json.dumps([ENTRY])))[0] == plain[:2]


def wrong(**changes: Any) -> dict[str, Any]:
    """The entry with a second step that is changed so; None takes the field away."""
    step = {key: value for key, value in {**ENTRY["generated"][0], **changes}.items() if value is not None}
    return {**ENTRY, "generated": [ENTRY["generated"][0], step]}


def test_wrong_files_are_refused_with_the_place(tmp_path: Path) -> None:
    for content, message in (
        ([ENTRY, wrong(cognitive_skill=None)], "entry 2, step 2: .* 'cognitive_skill'"),
        ([wrong(subquestion=None)], "entry 1, step 2: .* 'subquestion' .* 'answer', 'cog"),
        ([{"answer": "x", "generated": []}], "entry 1: .* 'question'"),
        ([{"question": "x", "generated": "y"}], "entry 1: 'generated' must"),
        ([{"question": "x", "generated": []}], ": 0 kept"),
        ('{"question": ', r"JSON \(.*\) .* JSON Lines \(line 1"),
        ("[" * 100_000, "JSON"),
    ):
        with pytest.raises(DataError, match=message):
            cogqa_texts(write(tmp_path, content))
    with pytest.raises(DataError, match=r"nothing\.json"):
        cogqa_texts(tmp_path / "nothing.json")
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DataError, match=r"bytes\.json.*UTF-8"):
        cogqa_texts(tmp_path / "bytes.json")


def skilled(*skills: str) -> dict[str, Any]:
    """An entry with a step of each of these skills, whose answer is its number."""
    steps = [
        {"subquestion": f"Step {number}?", "answer": number, "cognitive_skill": skill}
        for number, skill in enumerate(skills, start=1)
    ]
    return {"question": "Which?", "answer": "this", "generated": steps}


def test_steps_of_other_skills_are_dropped_and_counted_by_name(tmp_path: Path) -> None:
    """The public training data has six such steps: Induction thrice, and three skills once."""
    path = write(tmp_path, [skilled("Induction", "Retrieval"), skilled("Self-Evaluation", "Induction"), ENTRY])
    texts, report = cogqa_texts(path)
    assert [text.key.split()[1::2] for text in texts] == [["1", "2"], ["3", "1"], ["3", "3"]]
    skills = {reason.split("'")[1]: count for reason, count in report.dropped.items() if "'" in reason}
    assert skills == {"Induction": 2, "Self-Evaluation": 1}
    assert report.dropped["no answer"] == 1
    assert "'entry 1 step 1'" in report.examples.values()
    # What a skipped step says is known to the later ones all the same, as in the paper.
    assert texts[0].text.splitlines()[1:4] == ["Step: Step 1?", "Answer: 1", "Step: Step 2?"]


def test_entries_without_steps_are_counted(tmp_path: Path) -> None:
    texts, report = cogqa_texts(write(tmp_path, [ENTRY, {**ENTRY, "generated": []}]))
    assert [text.key for text in texts] == ["entry 1 step 1", "entry 1 step 3"]
    assert report.dropped == {"no answer": 1, "no steps": 1}
    assert report.examples["no steps"].endswith("entry 2")


def test_a_chat_template_takes_the_prompt_as_a_message(tmp_path: Path) -> None:
    path, tokenizer = write(tmp_path, [ENTRY]), word_tokenizer()
    with pytest.raises(OptionError, match="no chat template"):
        cogqa_texts(path, chat=tokenizer)
    tokenizer.chat_template = (
        "{% for m in messages %}[{{ m.role }}]{{ m.content }}[end]{% endfor %}"
        "{% if add_generation_prompt %}[assistant]{% endif %}"
    )
    for ours, turn in zip(cogqa_texts(path)[0], cogqa_texts(path, chat=tokenizer)[0], strict=True):
        answer = ours.text[slice(*ours.spans[0])].strip()
        assert turn.text == f"[user]{ours.text[: ours.spans[0][0]]}[end][assistant]{answer}"
        assert turn.text[slice(*turn.spans[0])] == answer
        assert (turn.bos, turn.category, turn.item) == ("written", ours.category, ours.item)
