"""Results hold their suite: nothing needs to be registered or found for what is done with them later."""

import json
import logging
import subprocess
import sys
from dataclasses import replace

import pytest
from counting import INPUTS, constant, counting_suite, finished_pairs

import headcats as hc
from headcats.errors import DataError, PlanError, StorageWarning
from headcats.prompts.template import Template
from headcats.registry import register
from headcats.results.run_results import RunResults
from headcats.study.preparation import Preparation
from headcats.study.restore import restored_study
from headcats.tasks.definition import Task
from headcats.tasks.stored import stored_suite

pytestmark = pytest.mark.filterwarnings("ignore::headcats.errors.StatisticsWarning")
QUICK = {"n_prompts": 8, "relabellings": 19}
OPTIONS = {"n_prompts": 24, "n_demos": 2, "methods": ["denoising_patch"], "progress": False}
COMMANDS = """
import logging, sys
from headcats import cli, registry

commands = [line.split() for line in sys.stdin.read().splitlines()]
for command in commands:
    sys.argv = ["headcats", *command]
    try:
        cli.main()
    except SystemExit as stop:
        assert not stop.code, (command, stop.code)
    logging.getLogger("headcats").handlers.clear()
assert "always_a" not in registry.names("task") and "comma" not in registry.names("template")
"""


def finished(name, category, pairs=None):
    """A task of finished prompts."""
    return Task(name, category, "made up", lambda n, *, seed: pairs or finished_pairs(n, seed=seed))


def words_of(results):
    """Task -> its pairs, as the results hold them."""
    suite, _ = stored_suite(RunResults(results).suite_text, source="x")
    return {task.name: task.pairs(1, seed=0) for task in suite.tasks}


@pytest.fixture
def mine():
    """A suite that nobody registered, with the name of a built-in one."""
    return hc.make_suite(counting_suite().tasks, name="icl")


@pytest.mark.slow  # in one process: the tests below
def test_everything_works_in_another_process(model, model_folder, mine, tmp_path, tables):
    register("template", "comma", Template("comma", before="", between=" →", lead=" ", after=","))
    folder, options = tmp_path / "mine", {**OPTIONS, "template": "comma"}
    scored = ["always_a", "always_b", "always_c"]
    hc.run(model, suite=mine, tasks=scored, out=folder, **options)
    plain = tmp_path / "plain"
    results = hc.run(model, suite=mine, tasks=scored, out=plain, **OPTIONS)
    more = f"--model {model_folder} --n-prompts 24 --n-demos 2 --no-views --quiet"
    commands = [
        f"evidence {folder} --model {model_folder} --n-prompts 8 --relabellings 19",
        f"views {folder} --model {model_folder} --heads 1 --prompts 1",
        f"compare {folder}",
        f"report {folder}",
        # More methods, where the suite is not named again.
        f"run --out {plain} --methods mean_ablation --tasks {','.join(scored)} {more}",
        f"merge {plain} --out {tmp_path / 'merged'}",
        f"evidence {tmp_path / 'merged'} --model {model_folder} --n-prompts 8 --relabellings 19",
    ]
    process = subprocess.run(
        [sys.executable, "-c", COMMANDS], input="\n".join(commands), capture_output=True, encoding="utf-8", check=False
    )
    assert process.returncode == 0, process.stderr
    extended = hc.load(plain)
    assert set(extended["always_a"].children) == {"denoising_patch@last", "mean_ablation@all"}
    assert extended.attrs["suite"] == results.attrs["suite"] == hc.load(tmp_path / "merged").attrs["suite"]
    assert RunResults(extended).manifest.suite_source == ""
    for each in (folder, tmp_path / "merged"):
        assert (each / "evidence" / "specificity.nc").exists()
    assert (folder / "views" / "knowledge.html").exists()


def test_the_prompts_of_a_run_are_made_again_from_what_it_kept(model, mine):
    results = hc.run(model, suite=mine, **OPTIONS)
    assert words_of(results) == {task.name: task.pairs(1, seed=0) for task in mine.tasks}
    record = RunResults(results).manifest.tasks
    prepared = Preparation(model, restored_study(RunResults(results))).prepared
    assert list(prepared) == [task.name for task in mine.tasks]
    for name, each in prepared.items():
        assert tuple(batch.fingerprint() for batch in each.scored) == record[name].prompt_hash
    evidence = hc.run_evidence(model, results, **QUICK)
    assert json.loads(evidence.attrs["options"])["suite"] == "icl"
    assert [entry["name"] for entry in json.loads(results.attrs["categories"])][:2] == ["Knowledge", "Linguistic"]


def test_a_damaged_copy_is_said_where_the_suite_is_not_found_either(model, mine, tmp_path):
    hc.run(model, suite=hc.make_suite(mine.tasks, name="nobody's"), out=tmp_path / "r", **OPTIONS)
    (tmp_path / "r" / "suite.json").write_bytes(b"{")
    with pytest.warns(StorageWarning):
        run = RunResults(hc.load(tmp_path / "r"))
    with pytest.raises(PlanError, match=r"suite\.json is damaged.* suite \"nobody's\", which is not found"):
        restored_study(run)
    # One that is given does as well: the prompts say whether it is the same.
    assert hc.run_evidence(model, run.tree, suite=mine, **QUICK)["specificity"].sizes["task"] >= 2


@pytest.mark.slow  # test_joint_run.py has own tasks beside those of a bundled suite, too
def test_own_tasks_beside_those_of_a_bundled_suite(mini):
    own = Task("backwards", "translation", "made up", lambda n, *, seed: [(b, a) for a, b in capitals.pairs(n, seed=0)])
    (capitals,) = hc.suite("icl").named(["country_capital"])
    tasks = ["backwards", "country_capital", "capital_country"]
    suite = hc.suite("icl").with_tasks(own)
    results = hc.run(mini, suite=suite, tasks=tasks, **OPTIONS | {"n_prompts": 16})
    assert RunResults(results).manifest.suite_source == ""
    assert hc.run_evidence(mini, results, n_prompts=4, relabellings=19)["specificity"].sizes["task"] >= 2


def test_pairs_that_another_call_would_give_otherwise_are_kept(model):
    calls = iter(range(100))

    def moody(n, *, seed):
        return [(word, f"w{40 + next(calls) % 2}") for word in INPUTS]

    suite = counting_suite().with_tasks(Task("moody", "knowledge", "made up", moody))
    results = hc.run(model, suite=suite, tasks=["always_a", "always_b", "always_c"], **OPTIONS)
    assert len(hc.run_evidence(model, results, **QUICK)) == 5


# ------------------------------------------------------------------------------------------------- into a folder
def test_the_same_suite_goes_on_whatever_it_was_made_of(model, mine, tmp_path, files):
    hc.run(model, suite=mine, tasks=["always_a"], out=tmp_path / "r", **OPTIONS)
    before = files(tmp_path / "r", "suite.json")
    results = hc.run(model, suite=hc.make_suite(mine.tasks, name="icl"), out=tmp_path / "r", **OPTIONS)
    assert list(RunResults(results).tasks) == ["always_a", "always_b", "always_c"]
    assert files(tmp_path / "r", "suite.json") == before


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda suite: suite.with_tasks(constant("always_b", "w46", "knowledge")), "Task 'always_a' gives other"),
        (
            lambda suite: suite.with_tasks(constant("always_a", "w40", "linguistic")),
            "'Knowledge' there, .*'Linguistic'",
        ),
        (lambda suite: hc.make_suite(suite.tasks[1:], name="icl"), "'always_a' is of category .* missing now"),
        (lambda suite: hc.suite("icl"), "missing now"),
    ],
)
def test_a_suite_that_changes_what_was_scored_is_refused(model, mine, tmp_path, files, change, message):
    folder = tmp_path / "r"
    hc.run(model, suite=mine, tasks=["always_a"], out=folder, **OPTIONS)
    before, changed = files(folder), change(mine)
    with pytest.raises(PlanError, match=f"{message}.*--out"):
        hc.run(model, suite=changed, tasks=[changed.tasks[-1].name], out=folder, **OPTIONS)
    assert files(folder) == before


def test_tasks_that_change_no_prompt_are_added(model, tmp_path):
    options = {**OPTIONS, "n_prompts": 4, "methods": ["denoising_patch@last"], "out": tmp_path / "r"}
    first = hc.make_suite([finished("a", "x"), finished("b", "y")], name="s")
    hc.run(model, suite=first, **options)
    results = hc.run(model, suite=first.with_tasks(finished("c", "y")), **options)
    assert list(RunResults(results).tasks) == ["a", "b", "c"]
    assert list(words_of(results)) == ["a", "b", "c"]
    longer = [*finished_pairs(0, seed=0), replace(finished_pairs(0, seed=0)[0], key="new", clean="w31 → w40\nw0 →")]
    results = hc.run(model, suite=first.with_tasks(finished("a", "x", longer), finished("c", "y")), **options)
    assert len(words_of(results)["a"]) == len(longer)


def test_tasks_that_change_a_reference_are_refused(model, tmp_path):
    options = {**OPTIONS, "n_prompts": 4, "methods": ["mean_ablation@last"], "out": tmp_path / "r"}
    first = hc.make_suite([finished("a", "x"), finished("b", "y")], name="s")
    hc.run(model, suite=first, **options)
    with pytest.raises(PlanError, match="mean_ablation@last would read other prompts for task 'a'"):
        hc.run(model, suite=first.with_tasks(finished("c", "y")), tasks=["c"], **options)


def test_words_that_a_joint_method_has_read_are_not_changed(mini, tmp_path):
    options = {"methods": ["ov_relation"], "n_prompts": 4, "progress": False, "out": tmp_path / "r"}
    two = hc.suite(["plural", "antonym"])
    hc.run(mini, suite=two, tasks=["plural"], **options)
    fewer = Task("plural", "linguistic", "made up", lambda n, *, seed: two.tasks[0].pairs(n, seed=seed)[:40])
    with pytest.raises(PlanError, match=r"task 'plural' has other pairs now.*--out"):
        hc.run(mini, suite=[fewer, "antonym"], tasks=["antonym"], **options)


# ------------------------------------------------------------------------------------------------------ bad input
@pytest.mark.parametrize("content", [b"", b'{"format": 1', b"\xff\xfe", b"[]"])
def test_a_damaged_suite_is_one_sentence(model, mine, tmp_path, content):
    folder = tmp_path / "r"
    hc.run(model, suite=mine, tasks=["always_a", "always_c"], out=folder, **OPTIONS)
    (folder / "suite.json").write_bytes(content)
    with (
        pytest.warns(StorageWarning, match=r"suite\.json is damaged: .*`headcats run` writes it again"),
        pytest.raises(PlanError, match="suite"),
    ):
        hc.run_evidence(model, folder, **QUICK)
    results = hc.run(model, suite=mine, tasks=["always_a"], out=folder, **OPTIONS)
    assert list(words_of(results)) == [task.name for task in mine.tasks]


def test_a_list_that_is_used_up_is_told_when_it_is(model, caplog):
    suite = hc.make_suite([finished("a", "x"), finished("b", "y")], name="s")
    options = {**OPTIONS, "methods": ["denoising_patch@last"]}
    with caplog.at_level(logging.WARNING, "headcats"):
        results = hc.run(model, suite=suite, **options | {"n_prompts": 8})
    (line,) = [record.getMessage() for record in caplog.records if "evidence" in record.getMessage()]
    assert line.startswith("2 of 2 tasks")
    assert "a, b" in line
    with pytest.raises(DataError, match=r"no prompt is left .*append .*suite=") as refused:
        hc.run_evidence(model, results, **QUICK)
    assert str(refused.value).count("no prompt is left") == 1
    caplog.clear()
    hc.run(model, suite=suite, **options | {"n_prompts": 4})
    assert "evidence" not in caplog.text


def test_more_pairs_behind_those_of_the_run_are_held_out(model):
    def at_length(n_lines):
        for i, pair in enumerate(finished_pairs(0, seed=0)):
            clean, corrupted = (
                "".join(f"w{(i + k + shift) % 24} → {word}\n" for k in range(n_lines)) + f"w{i} →"
                for shift, word in ((1, "w40"), (6, "w41"))
            )
            yield replace(pair, key=f"{pair.key}, {n_lines}", clean=clean, corrupted=corrupted)

    def suite(n):
        pairs = [pair for n_lines in range(1, 6) for pair in at_length(n_lines)][:n]
        return hc.make_suite([finished(name, category, pairs) for name, category in ("ax", "bx", "cy", "dy")])

    results = hc.run(model, suite=suite(40), **OPTIONS | {"methods": ["denoising_patch@last"], "n_prompts": 24})
    with pytest.raises(DataError, match="no prompt is left"):
        hc.run_evidence(model, results, **QUICK)
    assert hc.run_evidence(model, results, suite=suite(100), **QUICK)["specificity"]["n_prompts"].min() > 1
