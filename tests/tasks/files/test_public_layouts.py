"""Files of public layouts, loaded as they are: what is meant comes out, and every row is kept or counted as dropped."""

import json

import pytest
from for_each import for_each
from tasks.files.layout_files import write
from tasks.files.public_layouts import PUBLIC

import headcats as hc
from headcats.prompts.pair import PromptPair
from headcats.tasks.files.layouts import layouts


def _content(name, content):
    is_lines = name.endswith(".jsonl")
    return "".join(f"{json.dumps(row)}\n" for row in content) if is_lines else content


def check_first(task, meant):
    first = task.pairs(9, seed=0)[0]
    if isinstance(meant, str):
        assert first.clean.split(f"\n{first.answer.strip()}. ")[1].split("\n")[0] == meant
        assert first.distractor != first.answer
    elif isinstance(first, PromptPair):
        end, answer, wrong = meant
        assert (first.clean.endswith(end), first.answer, first.distractor) == (True, answer, wrong)
        assert first.corrupted != first.clean
    else:
        assert first == meant


@for_each("name", list(PUBLIC))
def test_a_public_layout_loads_as_meant(tmp_path, name):
    content, meant = PUBLIC[name]
    tasks = {task.name: task for task in hc.suite(write(tmp_path / name, _content(name, content))).tasks}
    stem = name.partition(".")[0]
    expected = {f"{stem}.{each}": of for each, of in meant.items()} if isinstance(meant, dict) else {stem: meant}
    assert tasks.keys() == expected.keys()
    for task, of in expected.items():
        check_first(tasks[task], of)
        assert tasks[task].drops.kept + sum(tasks[task].drops.dropped.values()) == 2


def test_every_layout_of_the_table_has_a_file(tmp_path):
    loaded = [hc.suite(write(tmp_path / name, _content(name, content))).tasks for name, (content, _) in PUBLIC.items()]
    sources = " ".join(task.source for tasks in loaded for task in tasks)
    assert {name for name in layouts() if f"{name} (" not in sources} == set()


@pytest.mark.parametrize("seed", [0, 1])
def test_options_whose_right_one_always_stands_first_are_shuffled(tmp_path, seed):
    rows = [
        {"question": f"Which is {n}?", "correct_answer": "right", "distractor1": "x", "distractor2": "y"}
        for n in range(40)
    ]
    (task,) = hc.suite(write(tmp_path / "sciq.json", rows)).tasks
    pairs = task.pairs(40, seed=seed)
    assert {pair.answer for pair in pairs} == {" A", " B", " C"}
    assert all(pair.clean.split(f"\n{pair.answer.strip()}. ")[1].startswith("right") for pair in pairs)
