"""Methods over a whole suite: part by part, resumed, refused parts named, and never half-written."""

import json
import logging
import re

import numpy as np
import pytest
import xarray as xr
from counting import SUITE, constant

import headcats as hc
from headcats.base import registry
from headcats.base.errors import DataError, OptionError, PlanError
from headcats.methods.spec import WholeNumber
from headcats.results.declaration import Declaration
from headcats.results.folder import ResultsFolder
from headcats.results.loading import load
from headcats.results.records import MethodRecord
from headcats.results.run_results import RunResults, suite_blocks
from headcats.results.tables import read_table
from headcats.scale.merging import merge


class Lengths:
    """A toy method: the mean number in a task's outputs, the same for every head. Made for this test.

    References:
        None.
    """

    declaration = Declaration(name="lengths", kind="joint", figure="ov_map")
    name = "lengths"
    made: list[str]

    def __init__(self):
        self.options = {"extra": WholeNumber(default=0)}
        self.made, self.refused, self.interrupt_at = [], set(), None

    def parts(self, inputs, *, extra=0):
        return {task.name: (task.name,) for task in inputs.tasks}

    def on_part(self, inputs, part, *, extra=0):
        if part == self.interrupt_at:
            raise KeyboardInterrupt
        inputs.advance(0.5, "counting")
        if part in self.refused:
            raise DataError(f"{part} too long")
        self.made.append(part)
        number = np.mean([int(output[1:]) for _, output in inputs.pairs[part]]) + extra
        grid = np.full((1, len(inputs.model.layers), inputs.model.max_heads), number)
        return xr.Dataset(
            {"score": (("task", "layer", "head"), grid)},
            coords={"task": [part], "category": ("task", [inputs.categories[part]])},
            attrs={"method": self.name, "provenance": json.dumps({"extra": extra})},
        )

    def join(self, parts):
        return xr.concat(list(parts.values()), dim="task", combine_attrs="override")

    def summary(self, block):
        return [f"{block.sizes['task']} tasks were counted."]


@pytest.fixture
def lengths():
    return registry.register("method", "lengths", Lengths())


TASKS = ["always_a", "always_b", "always_c"]


@pytest.fixture(scope="module")
def run(model):
    """Function: a small run of the toy method, or of others."""

    def run(out=None, *, tasks=TASKS, methods=("lengths",), progress=False, **options):
        options = {"suite": SUITE, "n_prompts": 4} | options
        return hc.run(model, methods=list(methods), tasks=list(tasks), out=out, progress=progress, **options)

    return run


def test_every_part_is_in_one_block_with_its_categories(lengths, run, model, tmp_path):
    results = run(tmp_path / "r")
    assert load(tmp_path / "r").identical(results)
    block = suite_blocks(results)["lengths"]
    assert block.task.values.tolist() == TASKS
    assert block.category.values.tolist() == ["Knowledge", "Knowledge", "Linguistic"]
    assert [one["name"] for one in json.loads(block.attrs["categories"])][:2] == ["Knowledge", "Linguistic"]
    assert block.attrs["model"] == model.name
    assert RunResults(results).tasks == {}
    xr.testing.assert_equal(suite_blocks(run())["lengths"], block)


def test_a_run_that_was_stopped_goes_on_and_does_nothing_twice(lengths, run, tmp_path):
    lengths.interrupt_at = "always_c"
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            run(tmp_path / "r")
        assert suite_blocks(load(tmp_path / "r"))["lengths"].task.values.tolist() == TASKS[:2]
    lengths.interrupt_at = None
    resumed = run(tmp_path / "r")
    assert lengths.made == TASKS
    xr.testing.assert_equal(suite_blocks(resumed)["lengths"], suite_blocks(run())["lengths"])


def test_more_tasks_extend_a_folder_and_fewer_take_nothing_out(lengths, run, tmp_path):
    run(tmp_path / "r", tasks=["always_b"])
    before = suite_blocks(run(tmp_path / "r"))["lengths"]
    assert before.task.values.tolist() == TASKS
    again = suite_blocks(run(tmp_path / "r", tasks=["always_b"]))["lengths"]
    assert again.task.values.tolist() == ["always_b", "always_a", "always_c"]
    xr.testing.assert_equal(again.sel(task=TASKS), before)
    assert sorted(lengths.made) == sorted(TASKS)


def test_a_part_saved_just_before_the_run_was_killed_is_found(lengths, run, tmp_path):
    run(tmp_path / "r", tasks=["always_b"])
    folder = ResultsFolder(tmp_path / "r")
    whole = folder.read_manifest()
    entry = whole.blocks["lengths"].parts["always_b"]
    whole.blocks["lengths"] = MethodRecord()
    folder.write_manifest(whole)
    folder.block_path("_suite", "lengths").unlink()
    assert suite_blocks(run(tmp_path / "r", tasks=["always_b"]))["lengths"].task.values.tolist() == ["always_b"]
    assert lengths.made == ["always_b"]
    assert folder.read_manifest().blocks["lengths"].parts["always_b"].fingerprint == entry.fingerprint


def test_merging_joins_the_parts_and_a_run_goes_on_from_them(lengths, run, tmp_path):
    run(tmp_path / "1", tasks=["always_b"], methods=["lengths", "lengths:extra=1"])
    run(tmp_path / "2", tasks=["always_b", "always_c"])
    merged = merge([tmp_path / "1", tmp_path / "2"], out=tmp_path / "all")
    assert {label: block.task.values.tolist() for label, block in suite_blocks(merged).items()} == {
        "lengths": ["always_b", "always_c"],
        "lengths:extra=1": ["always_b"],
    }
    record = RunResults(merged).manifest.blocks["lengths"]
    assert list(record.parts) == ["always_b", "always_c"]
    assert record.tasks == {"always_b": "Knowledge", "always_c": "Linguistic"}
    before = list(lengths.made)
    resumed = suite_blocks(run(tmp_path / "all", tasks=["always_b", "always_c"]))["lengths"]
    assert lengths.made == before
    assert resumed.identical(suite_blocks(load(tmp_path / "2"))["lengths"])


def test_parts_of_other_words_are_not_merged(lengths, run, tmp_path):
    run(tmp_path / "1", tasks=["always_b"])
    run(tmp_path / "2", tasks=["always_b"])
    folder = ResultsFolder(tmp_path / "2")
    folder.write_part(
        "lengths", "always_b", folder.read_parts("lengths")[0]["always_b"].assign_attrs(fingerprint="other")
    )
    with pytest.raises(PlanError, match=r"'always_b' .*'lengths' .*2 was"):
        merge([tmp_path / "1", tmp_path / "2"], out=tmp_path / "all")
    assert not (tmp_path / "all").exists()


def test_beside_methods_that_score_tasks(lengths, run, options, tmp_path):
    chosen = {"methods": ["zero_ablation@last", "lengths:extra=2"], "tasks": ["always_a"]}
    results = run(tmp_path / "r", n_demos=2, suite=options["suite"], **chosen)
    assert list(RunResults(results).tasks) == ["always_a"]
    assert list(suite_blocks(results)) == ["lengths:extra=2"]
    assert RunResults(results).manifest.methods == ("zero_ablation@last", "lengths:extra=2")


def test_a_refused_part_is_named_and_the_others_stay(lengths, run, tmp_path, caplog):
    lengths.refused = {"always_b"}
    with caplog.at_level(logging.WARNING, "headcats"):
        results = run(tmp_path / "r")
    assert suite_blocks(results)["lengths"].task.values.tolist() == ["always_a", "always_c"]
    record = RunResults(results).manifest.blocks["lengths"]
    assert record.skipped() == {"always_b": "always_b too long"}
    assert "parts are skipped" in caplog.text
    assert re.search(rf"1 of 3 .*:\n  lengths always_b: {record.skipped()['always_b']}", caplog.text)
    assert record.tasks["always_b"] == "Knowledge"  # a skipped one too


def test_nothing_is_written_where_every_part_is_refused(lengths, run, tmp_path):
    lengths.refused = set(TASKS)
    with pytest.raises(DataError, match="'model'") as refused:
        run(tmp_path / "r")
    assert str(refused.value).splitlines()[1:] == [f"  lengths {task}: {task} too long" for task in TASKS]
    assert not (tmp_path / "r").exists()


def test_shards_with_refused_parts_alone_or_with_none_are_parts_of_the_whole(lengths, run, tmp_path):
    lengths.refused = {"always_b"}
    folders = [tmp_path / str(number) for number in (1, 2, 3, 4)]
    for number, folder in enumerate(folders, start=1):
        run(folder, shard=hc.Shard(number, 4))
    records = [RunResults(load(folder)).manifest.blocks.get("lengths", MethodRecord()) for folder in folders]
    assert [list(record.parts) for record in records] == [["always_a"], ["always_b"], ["always_c"], []]
    assert records[1].skipped() == {"always_b": "always_b too long"}
    merged = RunResults(merge(folders, out=tmp_path / "all"))
    assert merged.joint_blocks["lengths"].task.values.tolist() == ["always_a", "always_c"]
    assert merged.manifest.blocks["lengths"].skipped() == records[1].skipped()


def test_a_part_made_from_other_words_is_refused(lengths, run, tmp_path, monkeypatch):
    run(tmp_path / "r", tasks=["always_b"])
    other = hc.suite(SUITE).with_tasks(constant("always_b", "w46", "knowledge"))
    # Looked at before anything else is scored.
    monkeypatch.setattr(
        "headcats.study.method_run.MethodRun._score_tasks", lambda self, progress: pytest.fail("scored")
    )
    for methods in (["lengths"], ["zero_ablation", "lengths"]):
        with pytest.raises(PlanError, match=r"lengths/always_b.nc"):
            run(tmp_path / "r", suite=other, methods=methods, tasks=["always_b"])


def test_a_damaged_part_is_made_again(lengths, run, tmp_path):
    run(tmp_path / "r")
    ResultsFolder(tmp_path / "r").part_path("lengths", "always_b").write_bytes(b"no netCDF")
    run(tmp_path / "r")
    assert lengths.made == [*TASKS, "always_b"]


def test_a_part_of_another_model_is_refused_whatever_is_asked_for(lengths, run, tmp_path):
    path = tmp_path / "r"
    run(path)
    results = ResultsFolder(path)
    part = read_table(results.part_path("lengths", "always_b"), again="-")
    results.write_part("lengths", "always_b", part.assign_attrs(made_on="another"))
    (path / "manifest.json").write_bytes(b"")
    with pytest.raises(PlanError, match=r"always_b\.nc .*another model"):
        run(path, tasks=[task for task in TASKS if task != "always_b"])


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"methods": ["lengths@last"]}, "lengths .*without @last"),
        ({"methods": ["zero_ablation"], "n_demos": 0}, "n_demos .*got 0: zero_abl"),
        ({"n_demos": -1}, "n_demos .*got -1"),
    ],
)
def test_what_is_wrong_is_named(lengths, run, options, named):
    with pytest.raises(OptionError, match=named):
        run(**options)


def test_no_demonstrations_are_enough_for_methods_over_the_suite(lengths, run):
    assert suite_blocks(run(n_demos=0))["lengths"].sizes["task"] == len(TASKS)
