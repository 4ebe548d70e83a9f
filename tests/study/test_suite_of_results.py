"""Results hold their suite: nothing needs to be registered or found for what is done with them later."""

import json
import logging
from dataclasses import replace

import pytest
from counting import constant, finished_pairs
from for_each import for_each

import headcats as hc
from headcats.base.errors import DataError, PlanError, StorageWarning
from headcats.results.folder import ResultsFolder
from headcats.results.run_results import RunResults
from headcats.study.preparation import Preparation
from headcats.study.restore import restored_study
from headcats.tasks.definition import Task
from headcats.tasks.stored import stored_suite

pytestmark = pytest.mark.filterwarnings("ignore::headcats.base.errors.StatisticsWarning")
QUICK = {"n_prompts": 8, "relabellings": 19}
OPTIONS = {"n_prompts": 16, "n_demos": 2, "methods": ["denoising_patch"], "progress": False}
FEW = {**OPTIONS, "n_prompts": 4}


def finished(name, category, pairs=None):
    """A task of finished prompts."""
    return Task(name, category, "made up", lambda n, *, seed: pairs or finished_pairs(n, seed=seed))


def words_of(results):
    """Task -> its pairs, as the results hold them."""
    suite, _ = stored_suite(RunResults(results).suite_text, source="x")
    return {task.name: task.pairs(1, seed=0) for task in suite.tasks}


@pytest.fixture
def mine(options):
    """A suite that nobody registered, with the name of a built-in one."""
    return hc.make_suite(options["suite"].tasks, name="icl")


def test_the_prompts_of_a_run_are_made_again_from_what_it_kept(model, mine):
    results = hc.run(model, suite=mine, **OPTIONS | {"methods": ["zero_ablation@last"]})
    assert words_of(results) == {task.name: task.pairs(1, seed=0) for task in mine.tasks}
    record = RunResults(results).manifest.tasks
    study = restored_study(RunResults(results))
    assert study.suite.name == "icl"
    prepared = Preparation(model, study).prepared
    assert list(prepared) == [task.name for task in mine.tasks]
    for name, each in prepared.items():
        assert tuple(batch.fingerprint() for batch in each.scored) == record[name].prompt_hash
    assert [entry["name"] for entry in json.loads(results.attrs["categories"])][:2] == ["Knowledge", "Linguistic"]


# ------------------------------------------------------------------------------------------------- into a folder
def test_a_suite_that_changes_what_was_scored_is_refused(model, mine, tmp_path, files):
    folder = tmp_path / "r"
    hc.run(model, suite=mine, tasks=["always_a"], out=folder, **FEW)
    before = files(folder)
    for changed, named in (
        (mine.with_tasks(constant("always_b", "w46", "linguistic")), "'always_a' "),
        (mine.with_tasks(constant("always_a", "w40", "linguistic")), "'Knowledge' there, .*'Linguistic'"),
        (hc.make_suite(mine.tasks[1:], name="icl"), "'always_a' .*missing"),
        (hc.suite("icl"), "missing"),
    ):
        with pytest.raises(PlanError, match=f"{named}.*--out") as refused:
            hc.run(model, suite=changed, tasks=[changed.tasks[-1].name], out=folder, **FEW)
        assert "version of headcats" in str(refused.value)
        assert files(folder) == before


def test_tasks_that_change_no_prompt_are_added(model, tmp_path):
    options = {**FEW, "methods": ["denoising_patch@last"], "out": tmp_path / "r"}
    first = hc.make_suite([finished("a", "x"), finished("b", "y")], name="s")
    hc.run(model, suite=first, **options)
    longer = [*finished_pairs(0, seed=0), replace(finished_pairs(0, seed=0)[0], key="new", clean="w31 → w40\nw0 →")]
    results = hc.run(model, suite=first.with_tasks(finished("a", "x", longer), finished("c", "y")), **options)
    assert list(RunResults(results).tasks) == sorted(words_of(results)) == ["a", "b", "c"]
    assert len(words_of(results)["a"]) == len(longer)
    # `b` comes first now, and all tasks have its prompts: of the one that was scored before, this is noted, too.
    assert {record.independent_source for record in RunResults(results).manifest.tasks.values()} == {"b"}
    assert set(hc.score(results).independent_source.values) == {"b"}


def test_tasks_that_change_a_reference_are_refused(model, tmp_path):
    options = {**OPTIONS, "n_prompts": 4, "methods": ["mean_ablation@last"], "out": tmp_path / "r"}
    first = hc.make_suite([finished("a", "x"), finished("b", "y")], name="s")
    hc.run(model, suite=first, **options)
    with pytest.raises(PlanError, match=r"mean_ablation@last .*'a'"):
        hc.run(model, suite=first.with_tasks(finished("c", "y")), tasks=["c"], **options)


@pytest.mark.usefixtures("joint_methods")
def test_words_that_a_joint_method_has_read_are_not_changed(mini, tmp_path):
    options = {"methods": ["word_weights"], "n_prompts": 4, "progress": False, "out": tmp_path / "r"}
    two = hc.suite(["plural", "antonym"])
    hc.run(mini, suite=two, tasks=["plural"], **options)
    fewer = Task("plural", "linguistic", "made up", lambda n, *, seed: two.tasks[0].pairs(n, seed=seed)[:40])
    with pytest.raises(PlanError, match=r"'plural' .*pairs.*--out"):
        hc.run(mini, suite=[fewer, "antonym"], tasks=["antonym"], **options)


# ------------------------------------------------------------------------------------------------------ bad input
def test_a_damaged_suite_is_one_sentence(model, mine, tmp_path):
    folder, mine = tmp_path / "r", hc.make_suite(mine.tasks, name="nobody's")
    hc.run(model, suite=mine, tasks=["always_a"], out=folder, **FEW)
    for content in (b"\xff\xfe", b"[]"):
        (folder / "suite.json").write_bytes(content)
        with (
            pytest.warns(StorageWarning, match=r"suite\.json .*`headcats run`"),
            pytest.raises(PlanError, match=r"suite\.json .*nobody's"),
        ):
            hc.run_evidence(model, folder, **QUICK)
    results = hc.run(model, suite=mine, tasks=["always_a"], out=folder, **FEW)
    assert list(words_of(results)) == [task.name for task in mine.tasks]


@for_each("source", ["./evil.py:suite", "evil:suite", "./pairs.json", "hf://datasets/owner/x", ""])
def test_what_results_name_as_their_suite_is_not_opened(model, tmp_path, monkeypatch, source):
    folder, mine = tmp_path / "r", hc.make_suite([finished("a", "x"), finished("b", "y")], name="nobody's")
    hc.run(model, suite=mine, tasks=["a"], out=folder, **FEW | {"methods": ["denoising_patch@last"]})
    (folder / "suite.json").unlink()
    (folder / "pairs.json").write_text('[["w1", "w40"], ["w2", "w40"]]', encoding="utf-8")
    (folder / "evil.py").write_text(
        f"open({str(tmp_path / 'mark')!r}, 'w').close()\nsuite = ['plural']", encoding="utf-8"
    )
    manifest = ResultsFolder(folder).read_manifest()
    ResultsFolder(folder).write_manifest(replace(manifest, suite_source=source, beside=()))
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setattr("headcats.tasks.suites.load_files", None)
    for use in (lambda: hc.run_evidence(model, folder, **QUICK), lambda: hc.save_attention(model, folder)):
        with pytest.raises(PlanError, match=r"nobody's.*--suite"):
            restored_study(RunResults(hc.load(folder)))
        with pytest.raises((PlanError, DataError)):
            use()
    assert not (tmp_path / "mark").exists()
    assert list(restored_study(RunResults(hc.load(folder)), mine).pairs) == ["a", "b"]


def test_a_list_that_is_used_up_is_told_when_it_is(model, caplog):
    suite = hc.make_suite([finished("a", "x"), finished("b", "y")], name="s")
    options = {**OPTIONS, "methods": ["denoising_patch@last"]}
    with caplog.at_level(logging.WARNING, "headcats"):
        results = hc.run(model, suite=suite, **options | {"n_prompts": 8})
    (line,) = [record.getMessage() for record in caplog.records if "evidence" in record.getMessage()]
    assert line.startswith("2 of 2 tasks")
    assert "a, b" in line
    with pytest.raises(DataError, match=r"no prompt .*suite=") as refused:
        hc.run_evidence(model, results, **QUICK)
    assert str(refused.value).count("no prompt") == 1
    caplog.clear()
    hc.run(model, suite=suite, **options | {"n_prompts": 4})
    assert "evidence" not in caplog.text
