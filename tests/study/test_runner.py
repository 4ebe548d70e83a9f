"""A run in memory, into a folder, again, with more in it, killed, and with things in its way."""

import errno
import logging
import os
import re
import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import torch
import xarray as xr
from counting import COUNTING_HEAD, SUITE, counting_folder, finished_pairs

import headcats as hc
from headcats.base.errors import (
    DamagedFileError,
    DataError,
    ModelError,
    OptionError,
    PlanError,
    StorageError,
    UnknownNameError,
)
from headcats.prompts.pair import SecondCorruption
from headcats.results.folder import ResultsFolder
from headcats.results.records import MethodRecord
from headcats.results.run_results import RunResults
from headcats.results.writer import WRITER
from headcats.study import identity
from headcats.study.assessment import SHOWN
from headcats.tasks.definition import Task
from headcats.tasks.suites import make_suite

TASKS = ["always_a", "always_b"]
METHODS = ["denoising_patch@last", "mean_ablation@all"]
SECOND = "second_corruption_patch@last"


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


def test_a_run_again_leaves_every_finished_file_alone(model, options, finished, tmp_path, files):
    path = shutil.copytree(finished, tmp_path / "r")
    first, before = hc.load(path), files(path)
    again = hc.run(model, out=path, **options)
    assert blocks(path) == {name: value for name, value in before.items() if name.startswith("blocks")}
    assert {name: content for name, (content, _) in files(path).items()} == {n: c for n, (c, _) in before.items()}
    xr.testing.assert_identical(first, again)


def test_other_conditions_than_those_of_blocks_that_are_there_are_said(model, options, tmp_path, monkeypatch, caplog):
    path, first, more = tmp_path / "r", {**options, "tasks": TASKS[:1]}, {**options, "tasks": TASKS}
    hc.run(model, out=path, **first)
    hc.run(model, out=path, **first)
    assert "there," not in caplog.text
    now = identity.conditions()
    changed = {**now, "torch": "0.0.1", "threads": "64", "fp32 products": "high"}
    monkeypatch.setattr(identity, "conditions", lambda: changed)
    hc.run(model, out=path, path="hooked", **more)
    for name in ("torch", "threads", "fp32 products"):
        assert f"{name}: {now[name]} there, {changed[name]} now" in caplog.text
    assert "numpy" not in caplog.text
    label = METHODS[0]
    records = [stored(path).blocks[label].parts[task] for task in TASKS]
    assert [record.versions for record in records] == [{}, changed]
    assert [record.path for record in records] == ["last_position", "hooked"]
    # A folder that notes no threads says nothing of them.
    noted = {name: version for name, version in now.items() if name not in ("threads", "fp32 products")}
    earlier = replace(stored(path), versions=noted, blocks={label: MethodRecord({TASKS[0]: records[0]})})
    assert [line.split(":")[0] for line in identity.changed_conditions(earlier)] == ["torch"]


def test_autocast_is_refused(model, options):
    (batch,) = hc.task_prompts(model, TASKS[0], suite=options["suite"], n_prompts=4)
    for call in (partial(hc.run, model, **options), partial(hc.sweep, model, batch, "denoising_patch")):
        with torch.autocast("cpu", dtype=torch.bfloat16), pytest.raises(ModelError, match="autocast"):
            call()


def test_more_tasks_and_methods_extend_a_folder(model, options, finished, tmp_path):
    """In three steps, and every step leaves what is there; the numbers are those of a run in one go."""
    path, two = tmp_path / "r", ["always_b", "always_a"]
    hc.run(model, out=path, **options | {"tasks": ["always_b"], "methods": ["mean_ablation"]})
    first, made = blocks(path), stored(path).blocks["mean_ablation@all"].parts["always_b"]
    hc.run(model, out=path, **options | {"tasks": two, "methods": ["denoising_patch"]})
    second = blocks(path)
    hc.run(model, out=path, **options | {"tasks": two})
    third = blocks(path)
    assert list(first) == ["blocks/mean_ablation@all.nc"]
    assert first.items() < second.items()
    assert list(third) == ["blocks/denoising_patch@last.nc", "blocks/mean_ablation@all.nc"]
    assert third["blocks/denoising_patch@last.nc"] == second["blocks/denoising_patch@last.nc"]
    assert stored(path).blocks["mean_ablation@all"].parts["always_b"] == made, "it is not scored again"
    assert_same_numbers(hc.load(path), hc.load(finished), tasks=two)
    assert set(stored(path).methods) == set(METHODS)
    assert {label: set(method.parts) for label, method in stored(path).blocks.items()} == {
        label: set(two) for label in METHODS
    }
    assert set(stored(path).checks) == {"model", *two}


# ------------------------------------------------------------------------------------------------------- controls


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
    assert stored(tmp_path).blocks[SECOND].parts["some"].dropped == 7
    (line,) = [line for line in caplog.messages if line.startswith(f"{SECOND} on task some leaves out 7 ")]
    assert "no second corruption" in line


def test_tasks_that_are_not_solved_and_scored_are_named_and_corrupt_others(model, all_options, caplog):
    chosen = {"tasks": ["always_a", "shifted"], "methods": ["zero_ablation@last"]}
    with caplog.at_level(logging.WARNING, "headcats"):
        found = hc.run(model, **all_options | chosen, min_accuracy=0)
    (line,) = [line for line in caplog.messages if "shifted (0.00)" in line]
    assert "1 of 2 tasks" in line
    assert "always_a" not in line
    assert "shifted" in found["always_a"]["zero_ablation@last"].distractor_task


def test_order_and_number_of_tasks_and_methods_change_no_number(model, options, finished):
    turned = make_suite(options["suite"].tasks[::-1], name=SUITE)
    tasks = ["always_b", "always_a"]
    other = hc.run(model, **options | {"suite": turned, "tasks": tasks, "methods": METHODS[::-1]})
    assert list(RunResults(other).tasks) == tasks
    assert_same_numbers(other, hc.load(finished), tasks=tasks)


# ----------------------------------------------------------------------------------------------- another plan
def test_another_plan_or_model_is_refused_and_nothing_changes(model, other_model, options, finished, files):
    before = files(finished)
    for named, scored, changed in (
        ("seed: 0 there, 1 now", model, {"seed": 1}),
        ("suite: 'counting' there, 'icl' now", model, {"suite": "icl"}),
        ("weights_hash: ", other_model, {}),
    ):
        with pytest.raises(PlanError, match=named):
            hc.run(scored, out=finished, **options | changed)
    assert files(finished) == before


# ------------------------------------------------------------------------------------------------------ refusals
def test_a_task_the_model_cannot_do_is_listed_and_the_others_go_on(model, all_options, caplog):
    with caplog.at_level(logging.WARNING, "headcats"):
        found = hc.run(model, **all_options | {"tasks": ["always_a", "shifted"], "methods": ["zero_ablation@last"]})
    assert list(RunResults(found).tasks) == ["always_a"]
    manifest = RunResults(found).manifest
    skipped, records = manifest.skipped(), manifest.tasks
    assert list(skipped) == ["shifted"]
    assert "accuracy 0.00" in skipped["shifted"]
    assert re.search("1 of 2 tasks .*skipped", caplog.text)
    assert f"shifted: {skipped['shifted']}" in caplog.text
    given = records["shifted"].given_answers
    assert (len(given), records["always_a"].given_answers) == (SHOWN, ())
    assert all(repr(each.given) in caplog.text for each in given)


def test_when_all_are_refused_nothing_is_written(model, all_options, tmp_path):
    with pytest.raises(DataError, match=r"(?s)'counting' .*shifted: .*cannot"):
        hc.run(model, out=tmp_path / "new" / "r", **all_options | {"tasks": ["shifted"]})
    assert list(tmp_path.iterdir()) == []


def test_a_method_that_a_task_does_not_allow_is_listed_and_the_others_go_on(model, options, tmp_path, caplog):
    """One method needs a position that the task lacks; the other task has a single query, too few to score."""
    few = Task("few", "knowledge", "made up", lambda n, *, seed: finished_pairs(n, seed=seed)[:1])
    chosen = {"suite": options["suite"].with_tasks(few), "methods": ["noising_patch@x9", "noising_patch"]}
    with caplog.at_level(logging.WARNING, "headcats"):
        found = hc.run(model, out=tmp_path / "r", **options | chosen | {"tasks": ["always_a", "few"]})
    assert list(RunResults(found).tasks) == ["always_a"]
    assert list(found["always_a"].children) == ["noising_patch@last"]
    refusal = stored(tmp_path / "r").blocks["noising_patch@x9"].parts["always_a"].refusal
    assert "role 'x9'" in refusal
    (line,) = [line for line in caplog.messages if line.startswith("noising_patch@x9")]
    assert "task always_a" in line


# ------------------------------------------------------------------------------------------------------ bad input
def test_wrong_options_are_refused_before_the_model_is_loaded(options, tmp_path):
    wrong = [
        ({"methods": ["denoising"]}, UnknownNameError, "method 'denoising'"),
        ({"path": "hoked"}, UnknownNameError, "path 'hoked'"),
        ({"cluster": "auto"}, OptionError, "cluster"),
        ({"cluster": hc.Task}, OptionError, "cluster"),
        ({"preset": "todd2024"}, TypeError, r"preset\('todd2024'"),
    ]
    for changes, error, named in wrong:
        with pytest.raises(error, match=named):
            hc.run("no such model", out=tmp_path / "r", **options | changes)


def test_weights_that_are_not_numbers_are_refused_before_anything_is_written(options, tmp_path):
    broken = hc.load_model(counting_folder(tmp_path / "m"), device="cpu")
    next(broken.model.parameters()).data.view(-1)[0] = float("nan")
    with pytest.raises(ModelError, match="holds NaN"):
        hc.run(broken, out=tmp_path / "r", **options)
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize("writes", [0, 3])
def test_a_full_disk_leaves_whole_files_and_the_run_goes_on_later(
    model, options, finished, tmp_path, monkeypatch, writes
):
    path, replace, done = tmp_path / "new" / "r", os.replace, []
    options = options | {"tasks": ["always_a", "always_b"], "methods": ["denoising_patch"]}

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
    again = hc.run(model, out=path, **options)
    assert_same_numbers(again, hc.load(finished), tasks=options["tasks"], methods=METHODS[:1])


def test_a_damaged_block_is_made_anew_and_no_other(model, options, finished, tmp_path):
    path = shutil.copytree(finished, tmp_path / "r")
    damaged = ResultsFolder(path).block_path("always_b", METHODS[1])
    before = blocks(path)
    damaged.write_bytes(damaged.read_bytes()[:1000])
    assert_same_numbers(hc.run(model, out=path, **options), hc.load(finished))
    changed = {name for name, value in blocks(path).items() if before[name][1] != value[1]}
    assert changed == {str(damaged.relative_to(path))}


def test_a_run_whose_methods_score_no_task_is_an_error(model, options):
    with pytest.raises(DataError, match="'nowhere'"):
        hc.run(model, **options | {"methods": ["denoising_patch@nowhere"]})


# --------------------------------------------------------------------------------------------------- at the same time


# ------------------------------------------------------------------------------------------------- a damaged manifest
def test_a_run_goes_on_beside_a_damaged_manifest(model, options, finished, tmp_path, caplog):
    path = shutil.copytree(finished, tmp_path / "r")
    before, content = blocks(path), (path / "manifest.json").read_bytes()
    (path / "manifest.json").write_bytes(content[:-100])
    with pytest.raises(DamagedFileError, match=r"manifest\.json .*`headcats run`"):
        hc.load(path)
    with caplog.at_level(logging.WARNING, "headcats"):
        assert_same_numbers(hc.run(model, out=path, **options), hc.load(finished))
    assert blocks(path) == before
    (kept,) = path.glob("manifest.json.damaged-*")
    assert kept.read_bytes() == content[:-100]
    assert kept.name in caplog.text


def test_blocks_of_another_model_are_not_taken_up(other_model, options, finished, tmp_path):
    """Without the manifest, which says whose they are."""
    path = shutil.copytree(finished, tmp_path / "r")
    (path / "manifest.json").write_bytes(b"")
    for removed in ("always_a", ""):
        with pytest.raises(PlanError, match=r"\.nc .*another model"):
            hc.run(other_model, out=path, **options | {"tasks": ["always_a"]})
        assert (path / "manifest.json").read_bytes() == b""
        shutil.rmtree(path / "blocks" / removed, ignore_errors=True)  # in the end what is known of the heads is left


def test_a_run_of_another_plan_does_not_bury_results_without_a_manifest(model, options, tmp_path):
    """The task has no block there, so no prompts disagree."""
    path = tmp_path / "r"
    hc.run(model, out=path, **options | {"tasks": ["always_b"]})
    (path / "manifest.json").unlink()
    with pytest.raises(PlanError, match="n_prompts: 8 there, 7"):
        hc.run(model, out=path, **options | {"n_prompts": 7, "tasks": ["always_a"]})
    assert not (path / "manifest.json").exists()


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
            chosen = {"metrics": [code], "methods": ["denoising_patch"]}
        else:
            hc.methods.causal_method(base="clean", positions="last")(code)
            chosen = {"methods": ["of_mine"]}
        return hc.run(model, out=tmp_path, **options | chosen | {"tasks": tasks})

    first, changed = (first_metric, changed_metric) if kind == "metric" else (first_method, changed_method)
    run(first, ["always_a"])
    run(first, ["always_a"])
    before = blocks(tmp_path)
    with pytest.raises(PlanError, match="of_mine"):
        run(changed, ["always_b"])
    assert blocks(tmp_path) == before


# ------------------------------------------------------------------------------------ memory and paths that are told
@pytest.fixture(scope="module")
def one_task(options):
    """One task by one method."""
    return options | {"tasks": ["always_a"], "methods": ["denoising_patch"]}


def test_a_limit_that_nothing_fits_into_is_refused_before_anything_is_scored(model, one_task, tmp_path):
    with pytest.raises(OptionError, match=r"needs .* limit is 1 kB"):
        hc.run(model, memory=1000, out=tmp_path / "never", **one_task)
    assert not (tmp_path / "never").exists()


def test_a_run_says_what_it_needs_and_which_path_ran(model, one_task, caplog):
    with caplog.at_level(logging.INFO, "headcats"):
        results = hc.run(model, memory="1GB", **one_task | {"methods": ["denoising_patch", "zero_ablation"]})
    text = "\n".join(record.getMessage() for record in caplog.records)
    assert "Memory: at most" in text
    assert "limit 1.0 GB" in text
    for label, name in (("denoising_patch@last", "last_position"), ("zero_ablation@all", "suffix")):
        assert f"{label}: 1 task by path '{name}'; self-check " in text
        assert results["always_a"][label].attrs["path"] == name
