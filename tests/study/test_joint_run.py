"""Methods over a whole suite: part by part, resumed, refused parts named, and never half-written."""

import json
import logging
import re

import numpy as np
import pytest
import xarray as xr

import headcats as hc
from headcats import registry
from headcats.errors import DataError, OptionError, PlanError
from headcats.methods.spec import WholeNumber
from headcats.results.declaration import Declaration
from headcats.results.folder import ResultsFolder
from headcats.results.loading import load
from headcats.results.merging import merge
from headcats.results.records import JointRecord
from headcats.results.run_results import RunResults, suite_blocks
from headcats.study.progress import PartsClock


class Lengths:
    """A toy method: how many letters a task's inputs have, the same for every head. Made for this test.

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
        letters = np.mean([len(given) for given, _ in inputs.pairs[part]]) + extra
        grid = np.full((1, len(inputs.model.layers), inputs.model.max_heads), letters)
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
def lengths(monkeypatch):
    monkeypatch.setitem(registry._tables, "method", dict(registry._tables["method"]))
    return registry.register("method", "lengths", Lengths())


TASKS = ["country_capital", "plural", "antonym"]


def run(out=None, *, tasks=TASKS, methods=("lengths",), progress=False, **options):
    return hc.run("mini", methods=list(methods), tasks=list(tasks), n_prompts=4, out=out, progress=progress, **options)


def test_every_part_is_in_one_block_with_its_categories(lengths, tmp_path):
    results = run(tmp_path / "r")
    assert load(tmp_path / "r").identical(results)
    block = suite_blocks(results)["lengths"]
    assert block.task.values.tolist() == TASKS
    assert block.category.values.tolist() == ["Knowledge", "Linguistic", "Linguistic"]
    assert [one["name"] for one in json.loads(block.attrs["categories"])][:2] == ["Algorithmic", "Knowledge"]
    assert block.attrs["model"] == "mini"
    assert RunResults(results).tasks == {}


def test_without_a_folder_the_numbers_are_the_same(lengths, tmp_path):
    saved, kept = (suite_blocks(results)["lengths"] for results in (run(tmp_path / "r"), run()))
    xr.testing.assert_equal(saved, kept)


def test_a_run_that_was_stopped_goes_on_and_does_nothing_twice(lengths, tmp_path):
    lengths.interrupt_at = "plural"
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "r")
    assert suite_blocks(load(tmp_path / "r"))["lengths"].task.values.tolist() == ["country_capital"]
    lengths.interrupt_at = None
    resumed = run(tmp_path / "r")
    assert lengths.made == ["country_capital", "plural", "antonym"]
    xr.testing.assert_equal(suite_blocks(resumed)["lengths"], suite_blocks(run())["lengths"])


def test_more_tasks_extend_a_folder(lengths, tmp_path):
    run(tmp_path / "r", tasks=["plural"])
    assert suite_blocks(run(tmp_path / "r"))["lengths"].task.values.tolist() == TASKS
    assert sorted(lengths.made) == sorted(TASKS)


def test_fewer_tasks_take_nothing_out_of_a_folder(lengths, tmp_path):
    before = suite_blocks(run(tmp_path / "r"))["lengths"]
    again = suite_blocks(run(tmp_path / "r", tasks=["plural"]))["lengths"]
    assert again.task.values.tolist() == ["plural", "country_capital", "antonym"]
    xr.testing.assert_equal(again.sel(task=TASKS), before)
    assert lengths.made == TASKS


def test_a_run_stopped_while_it_goes_on_keeps_every_finished_part(lengths, tmp_path):
    lengths.interrupt_at = "antonym"
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            run(tmp_path / "r")
        assert suite_blocks(load(tmp_path / "r"))["lengths"].task.values.tolist() == TASKS[:2]


def test_a_part_saved_just_before_the_run_was_killed_is_found(lengths, tmp_path):
    run(tmp_path / "r", tasks=["plural"])
    folder = ResultsFolder(tmp_path / "r")
    whole = folder.read_manifest()
    entry = whole.joint_blocks["lengths"].parts["plural"]
    whole.joint_blocks["lengths"] = JointRecord()
    folder.write_manifest(whole)
    folder.block_path("_suite", "lengths").unlink()
    assert suite_blocks(run(tmp_path / "r", tasks=["plural"]))["lengths"].task.values.tolist() == ["plural"]
    assert lengths.made == ["plural"]
    assert folder.read_manifest().joint_blocks["lengths"].parts["plural"].fingerprint == entry.fingerprint


def test_merging_joins_the_parts_and_a_run_goes_on_from_them(lengths, tmp_path):
    run(tmp_path / "1", tasks=["plural"], methods=["lengths", "lengths:extra=1"])
    run(tmp_path / "2", tasks=["plural", "antonym"])
    merged = merge([tmp_path / "1", tmp_path / "2"], out=tmp_path / "all")
    assert {label: block.task.values.tolist() for label, block in suite_blocks(merged).items()} == {
        "lengths": ["plural", "antonym"],
        "lengths:extra=1": ["plural"],
    }
    record = RunResults(merged).manifest.joint_blocks["lengths"]
    assert list(record.parts) == ["plural", "antonym"]
    assert record.tasks == {"plural": "Linguistic", "antonym": "Linguistic"}, "of both folders"
    before = list(lengths.made)
    resumed = suite_blocks(run(tmp_path / "all", tasks=["plural", "antonym"]))["lengths"]
    assert lengths.made == before
    assert resumed.identical(suite_blocks(load(tmp_path / "2"))["lengths"])


def test_parts_of_other_words_are_not_merged(lengths, tmp_path):
    run(tmp_path / "1", tasks=["plural"])
    run(tmp_path / "2", tasks=["plural"])
    folder = ResultsFolder(tmp_path / "2")
    folder.write_part("lengths", "plural", folder.read_parts("lengths")[0]["plural"].assign_attrs(fingerprint="other"))
    with pytest.raises(PlanError, match=r"'plural' .*'lengths' .*2 was"):
        merge([tmp_path / "1", tmp_path / "2"], out=tmp_path / "all")
    assert not (tmp_path / "all").exists()


@pytest.mark.ci
def test_beside_methods_that_score_tasks(lengths, tmp_path):
    results = run(tmp_path / "r", methods=["zero_ablation", "lengths:extra=2"], tasks=["country_capital"])
    assert list(RunResults(results).tasks) == ["country_capital"]
    assert list(suite_blocks(results)) == ["lengths:extra=2"]
    assert hc.score(results, method="zero_ablation").task.values.tolist() == ["country_capital"]
    assert RunResults(results).manifest.methods == ("zero_ablation@all", "lengths:extra=2")


def test_a_refused_part_is_named_and_the_others_stay(lengths, tmp_path, caplog):
    lengths.refused = {"plural"}
    with caplog.at_level(logging.WARNING, "headcats"):
        results = run(tmp_path / "r")
    assert suite_blocks(results)["lengths"].task.values.tolist() == ["country_capital", "antonym"]
    record = RunResults(results).manifest.joint_blocks["lengths"]
    assert record.skipped() == {"plural": "plural too long"}
    assert "parts are skipped" in caplog.text
    assert re.search(rf"1 of 3 .*:\n  lengths plural: {record.skipped()['plural']}", caplog.text)
    assert record.tasks["plural"] == "Linguistic", "a skipped one too"


@pytest.mark.parametrize(
    ("reasons", "listed"),
    [
        (["too long"] * 3, "  lengths country_capital, plural, antonym (3 parts): too long"),
        (
            ["at .13 of 2", "at .50 of 2", "at .20 of 30"],
            "  lengths country_capital: at .13 of 2 Alike, with other numbers: plural, antonym.",
        ),
        (
            ["too long", "too short", "too long"],
            "  lengths country_capital, antonym (2 parts): too long\n  lengths plural: too short",
        ),
    ],
)
def test_the_same_reason_is_told_once(lengths, monkeypatch, reasons, listed):
    def refuse(inputs, part, *, extra=0):
        raise DataError(reasons[TASKS.index(part)])

    monkeypatch.setattr(lengths, "on_part", refuse)
    with pytest.raises(DataError, match=r"Nothing .*scored") as refused:
        run()
    headline, _, lines = str(refused.value).partition("\n")
    assert "'mini'" in headline
    assert lines == listed


def test_a_line_is_told_of_finished_parts_unless_progress_is_unwanted(lengths, caplog, tmp_path):
    with caplog.at_level(logging.INFO, "headcats"):
        run(tmp_path / "r")
        assert "parts" not in caplog.text
        run(tmp_path / "r", progress=None)
        assert "parts" not in caplog.text
        run(tmp_path / "r", methods=["lengths:extra=1"], progress=None)
    lines = [record.getMessage() for record in caplog.records if "lengths:extra=1" in record.getMessage()]
    assert lines[0].startswith("lengths:extra=1: 3 parts")
    assert "already" not in lines[0]
    assert lines[-1].startswith("lengths:extra=1 antonym: ")
    assert lines[-1].endswith("; 3 of 3 parts done.")


def test_the_work_of_parts_is_that_which_the_method_tells(lengths, monkeypatch):
    asked = []

    class Asked(PartsClock):
        def __init__(self, what, work, **rest):
            asked.append(dict(work))
            super().__init__(what, work, **rest)

    monkeypatch.setattr("headcats.study.joint_run.PartsClock", Asked)
    run(progress=None)
    lengths.work = lambda inputs, part, *, extra=0: extra + len(inputs.pairs[part][0])
    run(methods=["lengths:extra=2"], progress=None)
    lengths.work = lambda inputs, part, *, extra=0: 0.0
    run(methods=["lengths:extra=3"], progress=None)
    assert [list(work.values()) for work in asked] == [[1.0] * 3, [4.0] * 3, [0.0] * 3]


def test_nothing_is_written_where_every_part_is_refused(lengths, tmp_path):
    lengths.refused = set(TASKS)
    with pytest.raises(DataError, match=r"Nothing .*scored .*'mini'") as refused:
        run(tmp_path / "r")
    assert str(refused.value).splitlines()[1:] == [f"  lengths {task}: {task} too long" for task in TASKS]
    assert not (tmp_path / "r").exists()


def test_shards_with_refused_parts_alone_or_with_none_are_parts_of_the_whole(lengths, tmp_path):
    lengths.refused = {"plural"}
    folders = [tmp_path / str(number) for number in (1, 2, 3, 4)]
    for number, folder in enumerate(folders, start=1):
        run(folder, shard=f"{number}/4")
    records = [RunResults(load(folder)).manifest.joint_blocks.get("lengths", JointRecord()) for folder in folders]
    assert [list(record.parts) for record in records] == [["country_capital"], ["plural"], ["antonym"], []]
    assert records[1].skipped() == {"plural": "plural too long"}
    merged = RunResults(merge(folders, out=tmp_path / "all"))
    assert merged.joint_blocks["lengths"].task.values.tolist() == ["country_capital", "antonym"]
    assert merged.manifest.joint_blocks["lengths"].skipped() == records[1].skipped()


def test_a_part_made_from_other_words_is_refused(lengths, tmp_path, monkeypatch):
    run(tmp_path / "r", tasks=["plural"])
    task = registry.lookup("task", "plural")
    monkeypatch.setitem(registry._tables["task"], "plural", task)
    words = hc.task(category="Linguistic", source="two words")(_plural)
    with pytest.raises(PlanError, match=r"lengths/plural.nc"):
        hc.run(
            "mini",
            suite=hc.suite("icl").with_tasks(words),
            methods=["lengths"],
            tasks=["plural"],
            n_prompts=4,
            out=tmp_path / "r",
            progress=False,
        )
    # Looked at before anything else is scored.
    monkeypatch.setattr("headcats.study.task_run.TaskWork.score_tasks", lambda self, progress: pytest.fail("scored"))
    with pytest.raises(PlanError, match=r"lengths/plural.nc"):
        hc.run(
            "mini",
            suite=hc.suite("icl").with_tasks(words),
            methods=["zero_ablation", "lengths"],
            tasks=["plural"],
            n_prompts=4,
            out=tmp_path / "r",
            progress=False,
        )


def test_parts_of_an_earlier_revision_of_the_method_are_not_continued(lengths, tmp_path, monkeypatch):
    run(tmp_path / "r", tasks=["plural"])
    run(tmp_path / "r", tasks=["plural"])
    assert lengths.made == ["plural"]
    monkeypatch.setattr(Lengths, "revision", "letters without accents", raising=False)
    with pytest.raises(PlanError, match=r"lengths/plural.nc"):
        run(tmp_path / "r", tasks=["plural"])


def _plural(n, *, seed):
    return [("cat", "cats"), ("dog", "dogs")]


_plural.__name__ = "plural"


def test_a_damaged_part_is_made_again(lengths, tmp_path):
    run(tmp_path / "r")
    ResultsFolder(tmp_path / "r").part_path("lengths", "plural").write_bytes(b"no netCDF")
    run(tmp_path / "r")
    assert lengths.made == [*TASKS, "plural"]


def test_a_part_of_another_model_is_refused_whatever_is_asked_for(lengths, tmp_path):
    path = tmp_path / "r"
    run(path)
    results = ResultsFolder(path)
    part = results.read_table(results.part_path("lengths", "plural"), again="-")
    results.write_part("lengths", "plural", part.assign_attrs(made_on="another"))
    (path / "manifest.json").write_bytes(b"")
    with pytest.raises(PlanError, match=r"plural\.nc is of another run \(another model\)"):
        run(path, tasks=[task for task in TASKS if task != "plural"])


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"methods": ["lengths@last"]}, OptionError, "Method lengths takes no positions: write it without @last"),
        ({"methods": ["zero_ablation"], "n_demos": 0}, OptionError, "n_demos must be .* at least 1; got 0: zero_abl"),
        ({"n_demos": -1}, OptionError, "n_demos must be a whole number of at least 0; got -1"),
    ],
)
def test_what_is_wrong_is_named(lengths, options, error, message):
    with pytest.raises(error, match=message):
        run(**options)


def test_no_demonstrations_are_enough_for_methods_over_the_suite(lengths):
    assert suite_blocks(run(n_demos=0))["lengths"].sizes["task"] == len(TASKS)
