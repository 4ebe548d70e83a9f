"""`headcats validate` shows what a study is made of: first prompts, and what becomes of every row of the files."""

import io
import json
import re

import pytest
from counting import INPUTS, SUITE, finished_pairs
from rich.cells import cell_len
from rich.console import Console
from tasks.files.layout_files import COGQA, write

from headcats.cli import console
from headcats.tasks.suites import suite

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
STEPS = [step for entry in COGQA for step in entry["generated"]]


@pytest.fixture
def validate(headcats, counting_model_folder):
    """Function: arguments -> what `headcats validate` prints, in an empty folder, with a model that counts words."""
    usual = ["validate", "--model", counting_model_folder, "--n-prompts", 6, "--n-demos", 2]
    return lambda *arguments: headcats(*usual, *arguments)


@pytest.fixture
def folder(tmp_path):
    """Word pairs with every fault, CogQA, a file that holds no data, and pairs that corrupt the first ones."""
    write(tmp_path / "mine" / "faulty.json", FAULTY)
    write(tmp_path / "mine" / "other.csv", "word,target\n" + "".join(f"{word},w41\n" for word in INPUTS))
    write(tmp_path / "mine" / "steps.json", COGQA)
    write(tmp_path / "mine" / "notes.txt", "not data")
    return tmp_path / "mine"


def n_rows(entry):
    return entry["rows"]["kept"] + sum(entry["rows"]["dropped"].values())


def test_every_row_of_the_files_is_counted_once(validate, folder):
    done = validate("--suite", folder, "--json")
    found = json.loads(done.out)
    assert sum(map(n_rows, found.values())) == len(FAULTY) + len(INPUTS) + len(STEPS)
    faulty = found["faulty"]["rows"]
    assert faulty["kept"] == len(FAULTY) - N_FAULTS == found["faulty"]["word_pairs"]["kept"]
    assert sorted(faulty["dropped"].values()) == [1, 1, 2, 2, 3]
    assert faulty["examples"].keys() == faulty["dropped"].keys()
    assert all(example.startswith("faulty.json, record ") for example in faulty["examples"].values())
    assert found["_suite"]["ignored"] == ["notes.txt"]
    assert found["_suite"]["rows"]["kept"] == 0
    assert n_rows(found["_suite"]) == 1, "the only step of its function"


def test_the_layouts_that_were_recognised_are_named(validate, folder):
    done = validate("--suite", folder)
    assert done.code == 0, done.err
    # Also where a task gives no prompt, since the model knows no word of it.
    for task in suite(folder).tasks:
        assert f"{task.name} ({task.category}): {task.source}" in done.text
    assert len(suite(folder).tasks) - done.out.count("  clean ") == 2
    assert "(word → target); other.csv" in done.text
    assert f"faulty {len(FAULTY) - N_FAULTS} of {len(FAULTY)} " in done.rows
    assert "notes.txt" in done.text


def test_first_prompts_are_those_of_the_study(validate, folder):
    arguments = ["--suite", folder, "--tasks", "faulty"]
    first = json.loads(validate(*arguments, "--json").out)["faulty"]["first_prompt"]
    assert first["bos"] == "<bos>"
    assert (first["answer"], first["distractor"]) == ([" w40"], [" w41"])
    words = [word for word in first["clean"] if word not in (" →", "\n")]
    assert "".join(first["clean"]) == f"{words[0]} → w40\n{words[2]} → w40\n{words[4]} →"
    assert "".join(first["corrupted"]) == "".join(first["clean"]).replace("w40", "w41")
    text = validate(*arguments).out
    assert f"<bos>│{words[0]}│ →│ w40│↵│{words[2]}│ →│ w40│↵│{words[4]}│ →⇒ w40\n" in text
    assert text.count("⇒ w41") == 1


def test_own_code_is_shown(validate, tmp_path):
    code = """
import headcats as hc

def mine():
    pairs = {"one": "w40", "two": "w41"}
    tasks = [
        hc.Task(name, "letters", "[bold]my[/] list", lambda n, *, seed, word=word: [(f"w{k}", word) for k in range(20)])
        for name, word in pairs.items()
    ]
    return hc.make_suite(tasks, name="mine")
"""
    write(tmp_path / "here" / "my.py", code)
    done = validate("--suite", "my.py:mine")
    assert done.code == 0, done.err
    assert "one (letters): [bold]my[/]" in done.text
    assert re.search(r"│ →⇒ w40\n", done.out)
    assert " rows " not in done.rows


def test_files_are_read_once(validate, folder, monkeypatch):
    from headcats.tasks import suites

    read = []
    load = suites.load_files
    monkeypatch.setattr(suites, "load_files", lambda source: read.append(source) or load(source))
    assert validate("--suite", folder).code == 0
    assert len(read) == 1


def test_finished_prompts_of_a_file(validate, tmp_path):
    pairs = finished_pairs(24, seed=0)
    rows = "".join(f'"{pair.clean}","{pair.corrupted}",{pair.answer},{pair.distractor}\n' for pair in pairs)
    write(tmp_path / "here" / "x.csv", f"clean,corrupted,answer,wrong\n{rows}w1 →,w1 →, w40, w41\n")
    done = validate("--suite", "x.csv")
    assert "(clean, corrupted, answer, wrong); x.csv" in done.text
    assert "│w30│ →│ w40│↵│w0│ →⇒ w40" in done.out
    assert "x 24 of 25 6 1.00 " in done.rows


def test_a_narrow_terminal(validate, folder, monkeypatch):
    written = io.StringIO()
    monkeypatch.setattr(console, "out", Console(width=40, file=written, force_terminal=True, highlight=False))
    assert validate("--suite", folder).code == 0
    assert "\x1b[" in written.getvalue()
    plain = re.sub(r"\x1b\[[0-9;]*m", "", written.getvalue())
    # Nothing is wider but the path, which is never broken.
    wide = [line.rstrip(",") for line in plain.splitlines() if cell_len(line) > 40]
    assert set(wide) <= {str(folder)}
    assert "│ →⇒ w40" in plain


def test_what_a_run_would_score_is_printed_and_put_as_numbers(validate, tmp_path):
    done = validate("--suite", SUITE)
    assert "⇒" not in done.out  # short, unless tasks are named
    assert "⇒ w40" in validate("--suite", SUITE, "--tasks", "always_a").out
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


@pytest.mark.slow  # counts: reports/text/test_tasks.py
def test_how_sentences_are_judged(headcats):
    done = headcats("validate", "--suite", "sentences", "--n-prompts", 8, "--tasks", "say_sum,say_product")
    assert done.code == 0, done.err
    assert re.search(r"say_product Arithmetic 8 0 0?\.?\d+ \d\.\d+", done.rows)
    assert re.search(r"2 of 2 .* 16 answers", done.text)
    assert "at least 20" in done.text
