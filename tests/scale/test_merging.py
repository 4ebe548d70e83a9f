"""Folders of one plan become one; folders of different plans do not."""

import errno
import json
import os

import pytest
import xarray as xr
from for_each import for_each
from results.folders import LABEL, block, files, folder, manifest

from headcats.base.errors import DamagedFileError, PlanError, StorageError
from headcats.results.folder import ResultsFolder
from headcats.results.loading import load
from headcats.results.records import BlockRecord, CategoryRecord, MethodRecord, ModelRecord, PlanRecord
from headcats.results.run_results import RunResults
from headcats.scale.merging import merge


def test_merge_is_the_union(tmp_path):
    first, second = folder(tmp_path / "1", "a", "b"), folder(tmp_path / "2", "b", "c")
    before = files(first), files(second)
    merged = merge([first, second], out=tmp_path / "all")
    assert list(RunResults(merged).tasks) == ["a", "b", "c"]
    xr.testing.assert_equal(merged, load(tmp_path / "all"))
    joined = RunResults(merged).manifest
    assert list(joined.tasks) == list(joined.blocks[LABEL].parts) == ["a", "b", "c"]
    assert joined.checks.keys() == {"a", "b", "c"}
    assert (files(first), files(second)) == before


def test_merge_joins_methods_and_ignores_where_it_ran(tmp_path):
    first = folder(tmp_path / "1", "a")
    second = ResultsFolder(tmp_path / "2")
    second.write_block("a", "zero_ablation@all", block(fingerprint="z"))
    model = ModelRecord("elsewhere", "main", "h", device="cuda:0")
    records = {"zero_ablation@all": MethodRecord({"a": BlockRecord("z")})}
    second.write_manifest(manifest("a", model=model, methods=("zero_ablation@all",), blocks=records))
    merged = merge([first, second.path], out=tmp_path / "all")
    assert set(merged["a"].children) == {LABEL, "zero_ablation@all"}
    assert RunResults(merged).manifest.methods == (LABEL, "zero_ablation@all")
    assert set(RunResults(merged).manifest.blocks) == {LABEL, "zero_ablation@all"}


def test_approximations_stay_beside_exact_effects(tmp_path):
    exact, second, label = folder(tmp_path / "1", "a"), ResultsFolder(tmp_path / "2"), "attribution_patch@last"
    second.write_block("a", label, block(fingerprint="z").assign_attrs(approximation="first order"))
    records = {label: MethodRecord({"a": BlockRecord("z", approximation="first order")})}
    second.write_manifest(manifest("a", methods=(label,), blocks=records))
    run = RunResults(merge([exact, second.path], out=tmp_path / "all"))
    assert [run.approximation(each) for each in (LABEL, label)] == ["", "first order"]
    assert {name: record.approximation for _, name, record in run.manifest.cells()} == {LABEL: "", label: "first order"}


def with_descriptors(path, value, *tasks, **attrs):
    """A results folder of the last of these tasks whose heads are all described by this value."""
    of_tasks = {name: ("task", [value] * len(tasks)) for name in ("direct_logit", "n_prompts")}
    table = xr.Dataset({"entropy": ("head", [value])} | of_tasks, {"task": list(tasks)}, attrs)
    ResultsFolder(folder(path, tasks[-1])).write_descriptors(table)
    return path


def test_descriptors_are_of_the_first_folder_with_the_tasks_that_the_others_add(tmp_path):
    first, second = with_descriptors(tmp_path / "1", 1.0, "b"), with_descriptors(tmp_path / "2", 2.0, "b", "c")
    descriptors = RunResults(merge([folder(tmp_path / "0", "a"), first, second], out=tmp_path / "all")).descriptors
    assert descriptors["entropy"].values.tolist() == [1.0]
    by_task = [descriptors[name].values.tolist() for name in ("task", "direct_logit", "n_prompts")]
    assert by_task == [["b", "c"], [1, 2], [1, 2]]
    other = with_descriptors(tmp_path / "3", 2.0, "d", made_on="another")
    with pytest.raises(DamagedFileError, match=r"3.descriptors\.nc .*another model"):
        merge([first, other], out=tmp_path / "more")


@for_each(
    "changes,message",
    [
        ({"plan": PlanRecord(n_prompts=2, seed=1)}, r"plan .*: seed 1 against 0\."),
        ({"model": ModelRecord("toy", weights_hash="x")}, "model .*: weights_hash 'x' against 'h'"),
        ({"categories": (CategoryRecord("Other", "#000000"),)}, r"categories .*\['Other'\]"),
        ({"fingerprint": "g"}, "'denoising_patch@last' of task 'a'"),
    ],
)
def test_what_does_not_belong_together_is_not_merged(tmp_path, changes, message):
    first, second = folder(tmp_path / "1", "a"), folder(tmp_path / "2", "a", **changes)
    with pytest.raises(PlanError, match=message):
        merge([first, second], out=tmp_path / "all")
    assert not (tmp_path / "all").exists()


def test_numbers_of_two_versions_of_somebodys_code_are_not_merged(tmp_path):
    first, same, changed = (
        folder(tmp_path / task, task, own_code={"mine": mark}) for task, mark in (("a", "1"), ("b", "1"), ("c", "2"))
    )
    assert RunResults(merge([first, same], out=tmp_path / "all")).manifest.own_code == {"mine": "1"}
    with pytest.raises(PlanError, match="code of mine"):
        merge([first, same, changed], out=tmp_path / "more")
    assert not (tmp_path / "more").exists()


def test_merged_blocks_keep_the_versions_that_they_were_made_with(tmp_path):
    paths = [folder(tmp_path / task, task, versions={"torch": task}) for task in "ab"]
    manifest = RunResults(merge(paths, out=tmp_path / "all")).manifest
    assert manifest.versions == {"torch": "a"}
    assert {task: record.versions for task, record in manifest.blocks[LABEL].parts.items()} == {
        "a": {},
        "b": {"torch": "b"},
    }


def suite_of(*tasks, **changes):
    entries = [{"name": task, "pairs": [["é", "→"]]} | changes for task in tasks]
    return json.dumps({"name": "s", "tasks": entries}, ensure_ascii=False)


def test_the_suite_of_all_folders_is_kept(tmp_path):
    folders = [folder(tmp_path / task, task) for task in "abc"]
    for path, text in zip(folders, ["", suite_of("a", "b"), suite_of("b", "a")], strict=True):
        if text:
            ResultsFolder(path).write_suite(text)
    assert merge(folders, out=tmp_path / "all").attrs["suite"] == suite_of("a", "b")
    assert "suite" not in merge(folders[:1], out=tmp_path / "old").attrs
    assert not (tmp_path / "old" / "suite.json").exists()


@for_each("other", [suite_of("a"), suite_of("a", "b", "c"), suite_of("a", "b", pairs=[["x", "y"]])])
def test_folders_of_different_suites_are_not_merged(tmp_path, other):
    first, second = folder(tmp_path / "1", "a"), folder(tmp_path / "2", "b")
    ResultsFolder(first).write_suite(suite_of("a", "b"))
    ResultsFolder(second).write_suite(other)
    with pytest.raises(PlanError, match=r"2.suite\.json .*1.suite\.json"):
        merge([first, second], out=tmp_path / "all")
    assert not (tmp_path / "all").exists()


def test_merge_needs_folders_and_a_free_place(tmp_path):
    first = folder(tmp_path / "1", "a")
    before = files(first)
    with pytest.raises(StorageError, match="Nothing to merge"):
        merge([], out=tmp_path / "all")
    with pytest.raises(StorageError, match="holds results already"):
        merge([first], out=first)
    with pytest.raises(StorageError, match=r"absent is no"):
        merge([first, tmp_path / "absent"], out=tmp_path / "all")
    assert not (tmp_path / "all").exists()
    assert files(first) == before


def test_a_merge_that_fails_while_writing_leaves_nothing(tmp_path, monkeypatch):
    first, second = folder(tmp_path / "1", "a"), folder(tmp_path / "2", "b")
    ResultsFolder(first).write_suite(suite_of("a", "b"))
    (tmp_path / "mine").mkdir()
    replace, calls = os.replace, []

    def fill_up(source, target):
        calls.append(target)
        if len(calls) % 2 == 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        replace(source, target)

    monkeypatch.setattr(os, "replace", fill_up)
    for out in ("new", "mine"):
        with pytest.raises(StorageError, match="No space left"):
            merge([first, second], out=tmp_path / out)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1", "2", "mine"]
    assert list((tmp_path / "mine").iterdir()) == []
