"""`headcats validate` shows what a study is made of: first prompts, and what becomes of every row of the files."""

import json
import re

import pytest
from counting import INPUTS, SUITE
from tasks.files.layout_files import write

from headcats.tasks import suites

GOOD = [[word, "w40"] for word in INPUTS]
FAULTY = [
    *GOOD,
    GOOD[0],  # duplicate
    GOOD[1],
    ["w30", "w40"],  # contradiction
    ["w30", "w41"],
    ["w31", ""],  # empty cells
    ["", "w40"],
    ["w32", None],
    ["w33", ["w40", "w41"]],  # several outputs
    [" w0 ", "w40"],  # a duplicate without its spaces
    ["w34", ["w40"]],  # none: a list of one
]
N_FAULTS = 9


@pytest.fixture
def validate(headcats, counting_model_folder):
    """Function: arguments -> what `headcats validate` prints, in an empty folder, with a model that counts words."""
    usual = ["validate", "--model", counting_model_folder, "--n-prompts", 6, "--n-demos", 2]
    return lambda *arguments: headcats(*usual, *arguments)


@pytest.fixture
def folder(tmp_path):
    """Word pairs with every fault, a file that holds no data, and pairs that corrupt the first ones."""
    write(tmp_path / "mine" / "faulty.json", FAULTY)
    write(tmp_path / "mine" / "other.csv", "word,target\n" + "".join(f"{word},w41\n" for word in INPUTS))
    write(tmp_path / "mine" / "notes.txt", "not data")
    return tmp_path / "mine"


def n_rows(entry):
    return entry["rows"]["kept"] + sum(entry["rows"]["dropped"].values())


def test_every_row_of_the_files_is_counted_and_read_once(validate, folder, monkeypatch):
    read, load = [], suites.load_files
    monkeypatch.setattr(suites, "load_files", lambda source: read.append(source) or load(source))
    found = json.loads(validate("--suite", folder, "--json").out)
    assert len(read) == 1
    assert sum(n_rows(entry) for name, entry in found.items() if name != "_suite") == len(FAULTY) + len(INPUTS)
    faulty = found["faulty"]["rows"]
    assert faulty["kept"] == len(FAULTY) - N_FAULTS == found["faulty"]["word_pairs"]["kept"]
    assert sorted(faulty["dropped"].values()) == [1, 1, 2, 2, 3]
    assert faulty["examples"].keys() == faulty["dropped"].keys()
    assert all(example.startswith("faulty.json, record ") for example in faulty["examples"].values())
    assert found["_suite"] == {"ignored": ["notes.txt"]}
    first = found["faulty"]["first_prompt"]
    assert first["bos"] == "<bos>"
    assert (first["answer"], first["distractor"]) == ([" w40"], [" w41"])
    words = [word for word in first["clean"] if word not in (" →", "\n")]
    assert "".join(first["clean"]) == f"{words[0]} → w40\n{words[2]} → w40\n{words[4]} →"
    assert "".join(first["corrupted"]) == "".join(first["clean"]).replace("w40", "w41")


def test_the_layouts_that_were_recognised_are_named(validate, folder):
    done = validate("--suite", folder)
    assert done.code == 0, done.err
    tasks = suites.suite(folder).tasks
    for task in tasks:
        assert f"{task.name} ({task.category}): {task.source}" in done.text
    assert len(tasks) == done.out.count("  clean ")
    assert "(word → target); other.csv" in done.text
    assert f"faulty {len(FAULTY) - N_FAULTS} of {len(FAULTY)} " in done.rows
    assert "notes.txt" in done.text


def test_what_a_run_would_score_is_printed_and_put_as_numbers(validate, tmp_path):
    done = validate("--suite", SUITE)
    assert "⇒" not in done.out  # short, unless tasks are named
    named = validate("--suite", SUITE, "--tasks", "always_a").out
    assert (named.count("⇒ w40"), named.count("⇒ w41")) == (1, 1)
    assert re.search(r"Knowledge always_a 24 6 1.00 \d+\.\d+ \d+\.\d+ to \d+\.\d+", done.rows)
    assert "accuracy 0.00" in done.text
    assert "3 of 4 tasks" in done.text
    found = json.loads(validate("--suite", SUITE, "--json").out)
    assert list(found) == ["always_a", "always_b", "always_c", "shifted"]
    assert found["always_a"]["prompts"] == {"kept": 6, "dropped": {}, "examples": {}}
    assert found["always_a"]["low"] <= found["always_a"]["gap"] <= found["always_a"]["high"]
    assert "accuracy 0.00" in found["shifted"]["refusal"]
    assert "first_prompt" in found["always_b"]
    assert list((tmp_path / "here").iterdir()) == []
