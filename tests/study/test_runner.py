"""A run in memory, into a folder, again, with more in it, killed, and with things in its way."""

import errno
import json
import logging
import os
import re
import shutil
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest
import xarray as xr
from counting import COUNTING_HEAD, SUITE, constant, counting_folder, counting_suite, finished_pairs, several_tokens
from covering import some

import headcats as hc
from headcats.errors import (
    DamagedFileError,
    DataError,
    ModelError,
    OccupiedError,
    OptionError,
    PlanError,
    StorageError,
    UnknownNameError,
)
from headcats.prompts.pair import SecondCorruption
from headcats.results.checksum import stated_in
from headcats.results.folder import ResultsFolder
from headcats.results.merging import merge
from headcats.results.records import DropCounts
from headcats.results.run_results import RunResults
from headcats.results.writer import WRITER
from headcats.study import task_run
from headcats.tasks.definition import Task
from headcats.tasks.suites import make_suite

TASKS = ["always_a", "always_b", "always_c"]
METHODS = ["denoising_patch@last", "mean_ablation@all"]
SECOND, OTHER_ITEM = "second_corruption_patch@last", "other_item_patch@last"


def blocks(path):
    """Relative path -> (content, time of writing) of the finished blocks."""
    return {
        str(file.relative_to(path)): (file.read_bytes(), file.stat().st_mtime_ns)
        for file in sorted(Path(path, "blocks").rglob("*.nc"))
    }


def assert_same_numbers(one, other, *, tasks=TASKS, methods=METHODS):
    """Bit-equal blocks, in any order."""
    for task in tasks:
        for method in methods:
            xr.testing.assert_identical(
                one[task][method].to_dataset().drop_attrs(), other[task][method].to_dataset().drop_attrs()
            )
            assert one[task][method].patched.values.tobytes() == other[task][method].patched.values.tobytes()


def stored(path):
    return ResultsFolder(path).read_manifest()


# ------------------------------------------------------------------------------------------------- what comes out
def test_memory_and_folder_hold_the_same(model, options, finished):
    memory, folder = hc.run(model, **options), hc.load(finished)
    xr.testing.assert_identical(
        memory.map_over_datasets(lambda node: node.drop_attrs()),
        folder.map_over_datasets(lambda node: node.drop_attrs()),
    )
    assert list(RunResults(memory).tasks) == TASKS
    assert memory.attrs["categories"] == folder.attrs["categories"]
    one = memory["always_a"]["denoising_patch@last"]
    assert one.patched.dims == ("metric", "prompt", "layer", "head")
    assert one.sizes == {"metric": 1, "prompt": 8, "layer": 2, "head": 4}
    assert {"item", "key", "distractor_task", "metric", "layer", "head"} <= set(one.coords)
    assert memory["always_a"].attrs["category"] == "Knowledge"


def test_the_head_that_does_the_tasks_is_found(finished):
    scores = hc.score(hc.load(finished), method="denoising_patch", metric="logit_diff")
    layer, head = COUNTING_HEAD
    for task in TASKS:
        effects = scores.effect.sel(task=task).values
        assert effects[layer, head] > 0.9
        effects[layer, head] = 0
        assert abs(effects).max() < 0.1


def test_a_run_again_leaves_every_finished_file_alone(model, options, tmp_path, files):
    path = tmp_path / "r"
    first = hc.run(model, out=path, **options)
    before = files(path)
    again = hc.run(model, out=path, **options)
    assert blocks(path) == {name: value for name, value in before.items() if name.startswith("blocks")}
    assert {name: content for name, (content, _) in files(path).items()} == {n: c for n, (c, _) in before.items()}
    xr.testing.assert_identical(first, again)


def test_more_tasks_and_methods_extend_a_folder(model, options, finished, tmp_path):
    """In three steps, and every step leaves what is there; the numbers are those of a run in one go."""
    path = tmp_path / "r"
    hc.run(model, out=path, **options | {"tasks": ["always_c"], "methods": ["mean_ablation"]})
    first = blocks(path)
    hc.run(model, out=path, **options | {"tasks": ["always_c", "always_a"], "methods": ["denoising_patch"]})
    second = blocks(path)
    hc.run(model, out=path, **options)
    third = blocks(path)
    assert (len(first), len(second), len(third)) == (1, 3, 6)
    assert first.items() < second.items() < third.items()
    whole = hc.load(path)
    assert_same_numbers(whole, hc.load(finished))
    assert set(stored(path).methods) == set(METHODS)
    assert {task: set(records) for task, records in stored(path).blocks.items()} == {
        task: set(METHODS) for task in TASKS
    }
    assert set(stored(path).checks) == {"model", *TASKS}


# ------------------------------------------------------------------------------------------------------- controls
# Fingerprints of the blocks of always_a before there was a second corruption.
FROZEN = {
    "denoising_patch@last": "22d62e2c5e7cb3651df7c427d19e2860",
    "mean_ablation@all": "bef090b799ba1b0aff4bc42d6d1286c5",
}


@pytest.fixture
def from_before(model, options, tmp_path, monkeypatch):
    """A folder of a version in which skipped tasks corrupted others."""
    path = tmp_path / "from before"
    with monkeypatch.context() as patched:
        patched.setattr(task_run, "settle_distractors", lambda *args, **kwargs: {})
        hc.run(model, out=path, **options)
    return path


def test_a_folder_from_before_takes_the_controls(model, options, from_before):
    path, finished = from_before, hc.load(from_before)
    before = blocks(path)
    assert {label: record.fingerprint for label, record in stored(path).blocks["always_a"].items()} == FROZEN
    plain = {name: value for name, value in options.items() if name != "methods"}
    found = hc.run(model, out=path, **plain)  # the default methods
    assert before.items() < blocks(path).items()
    for task in TASKS:
        assert set(found[task].children) == {*METHODS, SECOND, OTHER_ITEM}
        block = found[task][SECOND]
        assert block.second_task.dims == ("prompt",)
        assert all(a != b for a, b in zip(block.second_task.values, block.distractor_task.values, strict=True))
        assert set(block.second_task.values) <= {"always_a", "always_b", "always_c", "shifted"} - {task}
        assert block.key.values.tolist() == found[task]["denoising_patch@last"].key.values.tolist()
    assert_same_numbers(found, finished)
    again = blocks(path)
    hc.run(model, out=path, **plain)
    assert blocks(path) == again


def test_what_the_controls_say_of_the_head_that_does_the_tasks(model, options):
    """It names the output that is seen most often. Another wrong output, and the right one of another query."""
    plain = {name: value for name, value in options.items() if name != "methods"}
    found = hc.run(model, **plain, tasks=["always_a"])["always_a"]
    shares = {}
    for label in ("denoising_patch@last", SECOND, OTHER_ITEM):
        block = found[label].sel(metric="logit_diff", layer=COUNTING_HEAD[0], head=COUNTING_HEAD[1])
        shares[label] = (block.patched - block.corrupted) / (block.clean - block.corrupted).mean("prompt")
    assert shares["denoising_patch@last"].mean() > 0.9
    assert abs(shares[OTHER_ITEM] - shares["denoising_patch@last"]).max() < 0.1  # always the same answer
    block = found[SECOND].isel(metric=0).sel(layer=COUNTING_HEAD[0], head=COUNTING_HEAD[1])
    assert {name.startswith("always") for name in block.second_task.values} == {True}
    assert (abs(block.patched) < 0.15 * block.clean).all()  # a third output: the two others are level


def test_another_second_corruption_is_another_plan_for_its_blocks_alone(model, options, tmp_path, monkeypatch):
    chosen = options | {"methods": ["denoising_patch", "second_corruption_patch"], "tasks": ["always_a"]}
    hc.run(model, out=tmp_path, **chosen)
    monkeypatch.setattr("headcats.prompts.corruption.SecondLabels.draw", lambda *args: None)
    hc.run(model, out=tmp_path, **chosen | {"methods": ["denoising_patch"]})
    with pytest.raises(PlanError, match=rf"{SECOND}\.nc .*other prompts"):
        hc.run(model, out=tmp_path, **chosen)


def test_a_task_without_second_corruptions_is_refused_for_that_block_alone(model, tmp_path, caplog):
    task = Task("pairs", "knowledge", "made up", finished_pairs)
    with caplog.at_level(logging.WARNING, "headcats"):
        found = hc.run(model, suite=task, n_prompts=8, methods=[*METHODS, SECOND, OTHER_ITEM], out=tmp_path)
    assert set(found["pairs"].children) == {*METHODS, OTHER_ITEM}
    refusals = {label: record.refusal for label, record in stored(tmp_path).blocks["pairs"].items()}
    assert "none of the 8 " in refusals[SECOND]
    (line,) = [line for line in caplog.messages if "is skipped" in line]
    assert line.startswith(SECOND)
    assert "task pairs" in line


def test_prompts_without_second_corruption_are_counted(model, options, tmp_path, caplog):
    def some(n, *, seed):
        second = SecondCorruption("w30 → w42\nw0 →", "always w42")
        pairs = finished_pairs(n, seed=seed)
        return [replace(pairs[0], second=second), *pairs[1:]]

    chosen = {"suite": Task("some", "knowledge", "made up", some), "n_prompts": 8, "out": tmp_path}
    with caplog.at_level(logging.WARNING, "headcats"):
        found = hc.run(model, methods=["denoising_patch", "second_corruption_patch"], **chosen)["some"]
    assert found["denoising_patch@last"].sizes["prompt"] == 8
    assert found[SECOND].key.values.tolist() == ["pair w0"]
    assert stored(tmp_path).blocks["some"][SECOND].dropped == 7
    (line,) = [line for line in caplog.messages if line.startswith(f"{SECOND} on task some leaves out 7 ")]
    assert "no second corruption" in line


def test_tasks_that_are_not_solved_and_scored_are_named(model, options, caplog):
    with caplog.at_level(logging.WARNING, "headcats"):
        hc.run(model, **options | {"tasks": ["always_a", "shifted"], "min_accuracy": 0})
    (line,) = [line for line in caplog.messages if "may corrupt others" in line]
    assert "1 of 2 tasks are scored" in line
    assert "shifted (0.00)" in line
    caplog.clear()
    with caplog.at_level(logging.WARNING, "headcats"):
        hc.run(model, **options | {"tasks": ["always_a"], "min_accuracy": 0})
    assert not [line for line in caplog.messages if "may corrupt others" in line]


@pytest.mark.parametrize("corruption", ["other_task", "shuffled_labels"])
def test_finished_prompts_need_no_demonstrations_whatever_else_is_in_their_suite(model, corruption):
    suite = counting_suite().with_tasks(Task("pairs", "knowledge", "made up", finished_pairs))
    options = {"suite": suite, "n_prompts": 8, "methods": ["denoising_patch"], "corruption": corruption}
    with_others, alone = (
        hc.run(model, tasks=["pairs"], n_demos=n_demos, **options)["pairs"]["denoising_patch@last"]
        for n_demos in (0, 2)
    )
    assert with_others.patched.identical(alone.patched)
    with pytest.raises(OptionError, match="n_demos"):
        hc.run(model, tasks=["pairs", "always_a"], n_demos=0, **options)


@pytest.mark.parametrize("cluster", ["auto", "10.0.0.1:6379", hc.Task])
def test_what_is_no_cluster_is_refused_before_a_model_is_loaded(cluster):
    with pytest.raises(OptionError, match="cluster must be"):
        hc.run("no such model", cluster=cluster)


def test_order_of_tasks_and_methods_changes_no_number(model, options, finished):
    turned = make_suite(counting_suite().tasks[::-1], name=SUITE)
    other = hc.run(model, **options | {"suite": turned, "methods": ["mean_ablation", "denoising_patch"]})
    assert list(RunResults(other).tasks) == TASKS[::-1]
    assert_same_numbers(other, hc.load(finished))


def test_a_task_alone_has_the_same_numbers(model, options, finished):
    alone = hc.run(model, **options | {"tasks": ["always_b"]})
    assert_same_numbers(alone, hc.load(finished), tasks=["always_b"])


def test_several_metrics_come_from_one_sweep(model, options, finished):
    both = hc.run(model, **options, metrics=["prob", "logit_diff"], tasks=["always_a"])
    block = both["always_a"][METHODS[0]].to_dataset()
    assert block.metric.values.tolist() == ["prob", "logit_diff"]
    single = hc.load(finished)["always_a"][METHODS[0]].to_dataset()
    xr.testing.assert_allclose(block.sel(metric=["logit_diff"]), single, rtol=0, atol=1e-4)


# ----------------------------------------------------------------------------------------------- another plan
@pytest.mark.parametrize(
    ("changes", "difference"),
    [
        ({"seed": 1}, "seed: 0 there, 1 now"),
        ({"n_prompts": 6}, "n_prompts: 8 there, 6 now"),
        ({"template": "question"}, "template: 'arrow' there, 'question' now"),
        ({"metrics": ["prob"]}, "metrics: "),
        ({"suite": "icl"}, "suite: 'counting' there, 'icl' now"),
    ],
)
def test_another_plan_is_refused_and_nothing_changes(model, options, finished, files, changes, difference):
    before = files(finished)
    with pytest.raises(PlanError, match=difference):
        hc.run(model, out=finished, **options | changes)
    assert files(finished) == before


def test_another_model_is_refused_and_nothing_changes(options, finished, files, tmp_path):
    before = files(finished)
    with pytest.raises(PlanError, match="model weights_hash: "):
        hc.run(counting_folder(tmp_path / "m", seed=1), out=finished, **options)
    assert files(finished) == before


def test_a_suite_that_has_changed_under_its_name_is_refused(model, options, finished, files):
    before = files(finished)
    changed = counting_suite().with_tasks(constant("always_b", "w46", "knowledge"))
    with pytest.raises(PlanError, match=r"Task 'always_a' gives other prompts .*--out"):
        hc.run(model, out=finished, **options | {"suite": changed, "tasks": ["always_a"]})
    assert blocks(finished) == {name: value for name, value in before.items() if name.startswith("blocks")}


# ------------------------------------------------------------------------------------------------------ refusals
def test_a_task_the_model_cannot_do_is_listed_and_the_others_go_on(model, options, caplog):
    with caplog.at_level(logging.WARNING, "headcats"):
        found = hc.run(model, **options)
    assert list(RunResults(found).tasks) == TASKS
    skipped = RunResults(found).manifest.skipped()
    assert list(skipped) == ["shifted"]
    assert "cannot do it" in skipped["shifted"]
    assert "accuracy 0.00" in skipped["shifted"]
    assert re.search("1 of 4 tasks .*skipped", caplog.text)
    assert f"shifted: {skipped['shifted']}" in caplog.text


def test_when_all_are_refused_nothing_is_written(model, options, tmp_path):
    with pytest.raises(DataError, match=r"(?s)'counting' .*shifted: .*cannot"):
        hc.run(model, out=tmp_path / "new" / "r", **options | {"tasks": ["shifted"]})
    assert list(tmp_path.iterdir()) == []


def test_in_single_answers_of_several_tokens_are_dropped_with_that_reason(model, options):
    suite = counting_suite().with_tasks(Task("long", "knowledge", "made up", several_tokens))
    changed = {"suite": suite, "methods": ["zero_ablation"], "tasks": ["always_a", "long"], "answers": "single"}
    found = hc.run(model, **options | changed)
    record = RunResults(found).manifest.tasks["long"]
    reason = "answer of several tokens"
    assert record.word_pairs == DropCounts(0, {reason: 24}, {reason: "'w0' -> ' w0,w50'"})
    assert "usable word pair" in record.refusal
    assert f"24 {reason}" in record.refusal
    assert list(RunResults(found).tasks) == ["always_a"]


def test_a_method_that_a_task_does_not_allow_is_listed_and_the_others_go_on(model, options, tmp_path, caplog):
    with caplog.at_level(logging.WARNING, "headcats"):
        found = hc.run(
            model,
            out=tmp_path / "r",
            **options | {"methods": ["noising_patch@x9", "noising_patch"], "tasks": ["always_a"]},
        )
    assert list(found["always_a"].children) == ["noising_patch@last"]
    refusal = stored(tmp_path / "r").blocks["always_a"]["noising_patch@x9"].refusal
    assert "has no role 'x9'" in refusal
    (line,) = [line for line in caplog.messages if "is skipped" in line]
    assert line.startswith("noising_patch@x9")
    assert "task always_a" in line


@pytest.mark.parametrize("n_items", [1, 2])
def test_a_task_of_one_query_is_refused_and_the_others_go_on(model, options, n_items):
    few = Task("few", "knowledge", "made up", lambda n, *, seed: finished_pairs(n, seed=seed)[:n_items])
    suite = counting_suite().with_tasks(few)
    found = hc.run(model, **options | {"suite": suite, "methods": ["denoising_patch"]}, tasks=["always_a", "few"])
    assert "always_a" in found.children


# -------------------------------------------------------------------------------------------------- custom tasks
def test_a_task_of_a_notebook_joins_a_suite(model, options, tables):
    @hc.task(category="spelling", source="this notebook")
    def always_d(n, *, seed):
        """Always w43."""
        return [(f"w{i}", "w43") for i in range(24)]

    suite = hc.suite(SUITE).with_tasks(always_d)
    found = hc.run(model, **options | {"suite": suite, "tasks": ["always_d"], "methods": ["denoising_patch"]})
    assert found["always_d"].attrs["category"] == "spelling"
    assert [c["name"] for c in json.loads(found.attrs["categories"])][-1] == "spelling"
    effects = hc.score(found, method="denoising_patch", metric="logit_diff").effect.sel(task="always_d")
    assert float(effects[COUNTING_HEAD]) > 0.9
    by_name = hc.run(model, suite=["always_d", *counting_suite().tasks], tasks=["always_d"], n_prompts=4, n_demos=2)
    assert list(RunResults(by_name).tasks) == ["always_d"]


def test_finished_prompt_pairs_are_scored_as_they_are(model):
    task = Task("pairs", "knowledge", "made up", finished_pairs)
    ablation = "mean_ablation:reference=task@last"
    found = hc.run(model, suite=task, n_prompts=8, methods=["denoising_patch", ablation])
    block = found["pairs"]["denoising_patch@last"]
    assert block.key.values.tolist() == [f"pair w{i}" for i in range(8)]
    assert block.item.values.tolist() == [f"w{i}" for i in range(8)]
    assert set(found["pairs"].children) == {"denoising_patch@last", ablation}


def test_a_folder_takes_a_task_of_a_new_category(model, tmp_path):
    """A list of finished tasks grows in a notebook; figures read the categories from the folder."""
    first, second = (Task(name, name, "made up", finished_pairs) for name in ("knowledge", "spelling"))
    options = {"n_prompts": 8, "methods": ["denoising_patch"], "out": tmp_path / "r"}
    hc.run(model, suite=[first], **options)
    found = hc.run(model, suite=[first, second], **options)
    assert [c["name"] for c in json.loads(found.attrs["categories"])] == ["Knowledge", "spelling"]
    assert hc.score(found, method="denoising_patch", metric="logit_diff").category.values.tolist() == [
        "Knowledge",
        "spelling",
    ]


# ------------------------------------------------------------------------------------------------------ bad input
def test_unknown_options_name_near_matches(model, options):
    with pytest.raises(TypeError, match=r"'n_demonstrations'\. .* mean 'n_demos'"):
        hc.run(model, **options, n_demonstrations=3)
    with pytest.raises(TypeError, match=r"'metric'\. .* mean 'metrics'"):
        hc.run(model, **options, metric="prob")
    with pytest.raises(TypeError, match=r"\(model, \*\*.*preset\('todd2024'\)\)"):
        hc.run(model, **options, preset="todd2024")


def test_names_are_checked_before_the_model_is_loaded(options, tmp_path):
    with pytest.raises(UnknownNameError, match="Unknown method 'denoising'"):
        hc.run("no such model", out=tmp_path / "r", **options | {"methods": ["denoising"]})


def test_an_answer_that_equals_the_distractor_names_the_pair(model):
    def bad(n, *, seed):
        return [hc.PromptPair("the bad one", "q", "a", "b", " x", " x")]

    with pytest.raises(DataError, match=r"'the bad one': .*' x'"):
        hc.run(model, suite=Task("bad", "knowledge", "made up", bad))


def test_weights_that_are_not_numbers_are_refused_before_anything_is_written(options, tmp_path):
    broken = hc.load_model(counting_folder(tmp_path / "m"), device="cpu")
    next(broken.model.parameters()).data.view(-1)[0] = float("nan")
    with pytest.raises(ModelError, match="holds NaN"):
        hc.run(broken, out=tmp_path / "r", **options)
    assert not (tmp_path / "r").exists()


def test_somebody_elses_folder_is_refused(model, options, tmp_path, files):
    (tmp_path / "thesis.tex").write_text("x", encoding="utf-8")
    before = files(tmp_path)
    with pytest.raises(StorageError, match=r"no manifest\.json"):
        hc.run(model, out=tmp_path, **options)
    assert files(tmp_path) == before


@pytest.mark.parametrize(
    ("place", "told"),
    [("a file", "file is a file, and no folder can be below it"), ("/proc/headcats", "Cannot write to /proc/headcats")],
)
def test_a_place_that_cannot_be_written_is_named(model, options, tmp_path, place, told):
    if place == "a file":
        (tmp_path / "file").write_text("x", encoding="utf-8")
        place = tmp_path / "file" / "r"
    with pytest.raises(StorageError, match=told):
        hc.run(model, out=place, **options)


@pytest.mark.parametrize("writes", [0, 1, 3])
def test_a_full_disk_leaves_whole_files_and_the_run_goes_on_later(
    model, options, finished, tmp_path, monkeypatch, writes
):
    path, replace, done = tmp_path / "new" / "r", os.replace, []

    def fill_up(source, target):
        if len(done) == writes:
            raise OSError(errno.ENOSPC, "No space left on device")
        done.extend([] if Path(target).name == WRITER else [target])
        replace(source, target)

    with monkeypatch.context() as full:
        full.setattr(os, "replace", fill_up)
        with pytest.raises(StorageError, match="No space left") as refused:
            hc.run(model, out=path, **options)
    refused.match("Free space")
    left = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert len(set(left)) == len(set(done))
    assert all(not file.name.endswith(".tmp") for file in left)
    if not writes:
        assert list(tmp_path.iterdir()) == []
    assert_same_numbers(hc.run(model, out=path, **options), hc.load(finished))


def test_a_damaged_block_is_made_anew_and_no_other(model, options, finished, tmp_path):
    path = tmp_path / "r"
    hc.run(model, out=path, **options)
    damaged = ResultsFolder(path).block_path("always_b", METHODS[1])
    before = blocks(path)
    damaged.write_bytes(damaged.read_bytes()[:1000])
    assert_same_numbers(hc.run(model, out=path, **options), hc.load(finished))
    changed = {name for name, value in blocks(path).items() if before[name][1] != value[1]}
    assert changed == {str(damaged.relative_to(path))}


# ---------------------------------------------------------------------------------------------------------- killed
# One process loads the model and forks a child for every case; each child dies by SIGKILL at an exact point.
KILLED = """
import json, os, signal, sys
sys.path.insert(0, sys.argv[1])
import torch
torch.set_num_threads(1)
import counting
import headcats as hc
from headcats.results.folder import ResultsFolder

model = hc.load_model(sys.argv[2], device="cpu")
options = json.loads(sys.argv[3])

def die():
    os.kill(os.getpid(), signal.SIGKILL)

def run_and_die(out, block, moment):
    write_block, replace, written = ResultsFolder.write_block, os.replace, []
    def count(self, *args):
        written.append(args)
        if moment == "before" and len(written) == block:
            die()
        checksum = write_block(self, *args)
        if moment == "after" and len(written) == block:
            die()
        return checksum
    def rename(source, target):
        if moment == "temporary" and str(target).endswith(".nc") and len(written) == block:
            die()
        replace(source, target)
    ResultsFolder.write_block, os.replace = count, rename
    hc.run(model, out=out, **options)

for case in json.loads(sys.argv[4]):
    child = os.fork()
    if child == 0:
        try:
            run_and_die(*case)
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL, (case, status)
"""
MOMENTS = {
    "first block, before it": (1, "before", 0),
    "first block, temporary file written": (1, "temporary", 0),
    "middle block, temporary file written": (4, "temporary", 3),
    "middle block, manifest not yet written": (4, "after", 4),
    "last block, before it": (6, "before", 5),
    "last block, manifest not yet written": (6, "after", 6),
}


@pytest.fixture(scope="session")
def killed(model_folder, options, tmp_path_factory):
    """Moment -> folder of a run that was killed then."""
    root = tmp_path_factory.mktemp("killed")
    folders = {moment: root / str(number) for number, moment in enumerate(MOMENTS)}
    cases = [[str(folders[moment]), *MOMENTS[moment][:2]] for moment in MOMENTS]
    arguments = [str(Path(__file__).parents[1]), str(model_folder), json.dumps(options), json.dumps(cases)]
    done = subprocess.run(
        [sys.executable, "-c", KILLED, *arguments], capture_output=True, encoding="utf-8", check=False
    )
    assert done.returncode == 0, done.stderr
    return folders


@pytest.mark.ci
@pytest.mark.parametrize("moment", some([*list(MOMENTS)[::2], *list(MOMENTS)[1::2]], in_ci=3))
def test_a_killed_run_goes_on_where_it_stopped(model, options, finished, killed, moment):
    path, (_, when, whole) = killed[moment], MOMENTS[moment]
    before = blocks(path)
    assert len(before) == whole
    assert len(list(path.rglob("*.tmp"))) == (when == "temporary")
    result = hc.run(model, out=path, **options)
    assert before.items() <= blocks(path).items()
    assert len(blocks(path)) == 6
    assert not list(path.rglob("*.tmp"))
    assert_same_numbers(result, hc.load(finished))
    assert set(hc.diff(path, finished).state.values.tolist()) == {"same bits"}
    found, expected = stored(path), stored(finished)
    for part in ("plan", "model", "categories", "tasks", "methods", "requested"):
        assert getattr(found, part) == getattr(expected, part)
    assert found.checks.keys() == expected.checks.keys()
    # Fast paths are checked once per model and process, on the first prompts that come: the check's numbers differ, and
    # with them the checksums of the files that hold them.
    other = {"seconds": 0, "self_check": "", "checksum": ""}
    for task, records in expected.blocks.items():
        for label, record in records.items():
            assert replace(found.blocks[task][label], **other) == replace(record, **other)
            for manifest, root in ((found, path), (expected, finished)):
                file = ResultsFolder(root).block_path(task, label)
                assert manifest.blocks[task][label].checksum == stated_in(file, least=0)


# --------------------------------------------------------------------------------------------------- bundled model
@pytest.mark.ci
def test_the_bundled_model_with_a_task_of_a_notebook(mini, tables):
    """A word task that shares its inputs with tasks of the suite finds its distractors there."""

    @hc.task(category="linguistic", source="this notebook")
    def my_plural(n, *, seed):
        """The plural, once more."""
        return hc.suite("icl").tasks[[t.name for t in hc.suite("icl").tasks].index("plural")].pairs(n, seed=seed)

    suite = hc.suite("icl").with_tasks(my_plural)
    found = hc.run(mini, suite=suite, tasks=["my_plural", "country_capital"], methods=["denoising_patch"], n_prompts=8)
    assert set(RunResults(found).tasks) == {"my_plural", "country_capital"}
    block = found["my_plural"]["denoising_patch@last"]
    assert "english_french" in block.distractor_task.values
    assert float((block.clean - block.corrupted).mean()) > 0


def test_a_run_whose_methods_score_no_task_is_an_error(model, options):
    with pytest.raises(DataError, match="no role 'nowhere'"):
        hc.run(model, **options | {"methods": ["denoising_patch@nowhere"]})


# --------------------------------------------------------------------------------------------------- at the same time
def test_a_second_run_into_a_folder_is_refused_before_the_model_is_loaded(model, options, tmp_path, monkeypatch):
    monkeypatch.setattr("headcats.results.writer._PATIENCE", 0.0)
    told = []

    def second():
        try:
            hc.run("no such model", out=tmp_path / "r", **options)
        except OccupiedError as error:
            told.append(str(error))

    with ResultsFolder(tmp_path / "r").writing("headcats run"):
        thread = threading.Thread(target=second)
        thread.start()
        thread.join()
    assert len(told) == 1
    assert "join them with `headcats merge`" in told[0]


def test_runs_of_an_array_go_into_folders_of_their_own_and_are_merged(model, options, finished, tmp_path):
    for task in ("always_a", "always_b", "shifted"):
        try:
            hc.run(model, out=tmp_path / task, **options | {"tasks": [task]})
        except DataError:
            assert task == "shifted", "the model cannot do it"
    merged = merge([tmp_path / "always_a", tmp_path / "always_b"], out=tmp_path / "all")
    assert set(hc.diff(merged, finished).state.values.tolist()) <= {"same bits", "only in the second"}
    assert hc.diff(merged, finished).sizes["block"] > 0


# ------------------------------------------------------------------------------------------------- a damaged manifest
def test_a_run_goes_on_beside_a_damaged_manifest(model, options, finished, tmp_path, caplog):
    path = shutil.copytree(finished, tmp_path / "r")
    before, content = blocks(path), (path / "manifest.json").read_bytes()
    (path / "manifest.json").write_bytes(content[:-100])
    with pytest.raises(DamagedFileError, match=r"manifest\.json is damaged: .*`headcats run`"):
        hc.load(path)
    with caplog.at_level(logging.WARNING, "headcats"):
        assert_same_numbers(hc.run(model, out=path, **options), hc.load(finished))
    assert "This run begins a new one" in caplog.text
    assert blocks(path) == before, "nothing is computed again"
    (kept,) = path.glob("manifest.json.damaged-*")
    assert kept.read_bytes() == content[:-100]
    assert kept.name in caplog.text


def test_a_refused_run_beside_a_damaged_manifest_changes_nothing(model, options, finished, tmp_path):
    path = shutil.copytree(finished, tmp_path / "r")
    (path / "manifest.json").write_bytes(b"damaged")
    for _ in range(2):
        with pytest.raises(PlanError, match="n_prompts: 8 there, 7 now"):
            hc.run(model, out=path, **options | {"n_prompts": 7})
    assert len(list(path.glob("manifest.json.damaged-*"))) == 1
    assert_same_numbers(hc.run(model, out=path, **options), hc.load(finished))


def test_blocks_of_another_model_are_not_taken_up(model, options, finished, tmp_path):
    """Without the manifest, which says whose they are."""
    path = shutil.copytree(finished, tmp_path / "r")
    (path / "manifest.json").write_bytes(b"")
    other = hc.load_model(counting_folder(tmp_path / "other", seed=1), device="cpu")
    for removed in ("always_a", "always_b", ""):
        with pytest.raises(PlanError, match=r"\.nc is of another run \(another model\)"):
            hc.run(other, out=path, **options | {"tasks": ["always_a"]})
        assert (path / "manifest.json").read_bytes() == b""
        shutil.rmtree(path / "blocks" / removed, ignore_errors=True)  # in the end what is known of the heads is left
    assert_same_numbers(hc.run(model, out=path, **options), hc.load(finished))


def test_a_run_of_another_plan_does_not_bury_results_without_a_manifest(model, options, finished, tmp_path):
    """Of tasks that have no block there, so that no prompts disagree."""
    path = shutil.copytree(finished, tmp_path / "r")
    (path / "manifest.json").unlink()
    shutil.rmtree(path / "blocks" / "always_a")
    with pytest.raises(PlanError, match=r"is of another run \(n_prompts: 8 there, 7 now\)"):
        hc.run(model, out=path, **options | {"n_prompts": 7, "tasks": ["always_a"]})
    assert not (path / "manifest.json").exists()
    assert_same_numbers(hc.run(model, out=path, **options), hc.load(finished))


def first_metric(logits, targets):
    return logits.gather(-1, targets.answer[:, None])[:, 0]


def changed_metric(logits, targets):
    return logits.gather(-1, targets.answer[:, None])[:, 0] ** 3


def first_method(sources):
    return sources.clean * 0


def changed_method(sources):
    return sources.clean * 0.9  # the same name, other numbers


@pytest.mark.parametrize("kind", ["metric", "method"])
def test_numbers_of_two_versions_of_somebodys_code_are_not_mixed(model, options, tmp_path, monkeypatch, kind):
    def run(code, tasks):
        monkeypatch.setattr(code, "__name__", "of_mine")
        if kind == "metric":
            return hc.run(model, out=tmp_path, **options | {"metrics": [code], "tasks": tasks})
        hc.methods.causal_method(base="clean", positions="last")(code)
        return hc.run(model, out=tmp_path, **options | {"methods": ["of_mine"], "tasks": tasks})

    first, changed = (first_metric, changed_metric) if kind == "metric" else (first_method, changed_method)
    run(first, ["always_a"])
    run(first, ["always_a", "always_b"])
    before = blocks(tmp_path)
    with pytest.raises(PlanError, match="The code of of_mine is not what it was"):
        run(changed, ["always_c"])
    assert blocks(tmp_path) == before


def test_somebody_elses_manifest_is_left_alone(model, options, tmp_path):
    path = tmp_path / "r"
    path.mkdir()
    (path / "manifest.json").write_text('{"name": "my web site"}', encoding="utf-8")
    with pytest.raises(StorageError, match=r"manifest\.json is not of headcats"):
        hc.run(model, out=path, **options)
    assert [file.name for file in path.iterdir()] == ["manifest.json"]
