"""Runs in an order: names, copies, checkpoints in local folders, and what corresponds."""

import shutil

import pytest
from for_each import for_each
from reports.page.synthetic_runs import written_run
from simulated_series import STRONG, results_of, series_of

import headcats as hc
from headcats.base.errors import DataError
from headcats.categories.map_spec import MapSpec
from headcats.evidence.comparison.agreement import agreement, pairs
from headcats.evidence.comparison.protocols import judge_protocols
from headcats.evidence.comparison.runs import read_runs

pytestmark = pytest.mark.filterwarnings("ignore::headcats.base.errors.StatisticsWarning")


def runs_of(*results):
    return read_runs(list(results), by="a test")


def checkpoint(path, source, *, weights, **options):
    return written_run(path, {}, model=source.rpartition("/")[2], source=source, weights=weights, **options)


def test_checkpoints_in_local_folders_are_one_training_in_the_order_of_their_steps(tmp_path):
    late, early = (checkpoint(tmp_path / f"run{n}", f"../models/step{n}", weights=str(n)) for n in (8000, 1000))
    runs = runs_of(late, early)
    assert (list(runs), runs.steps) == (["run1000", "run8000"], {"run1000": 1000, "run8000": 8000})
    assert (runs.model, runs.is_training, runs.corresponds) == ("models", True, True)
    course = hc.evidence.over_revisions([late, early])
    assert course["step"].values.tolist() == [1000, 8000]


@for_each(
    "sources,revisions",
    [
        (("../a/step1", "../b/step2"), (None, None)),  # checkpoints of two trainings
        (("../models/first", "../models/second"), (None, None)),
        (("../models/llama-7b", "../models/llama-8b"), (None, None)),
    ],
)
def test_other_folders_are_other_models(tmp_path, sources, revisions):
    runs = runs_of(*(checkpoint(tmp_path / str(n), source, weights=str(n)) for n, source in enumerate(sources)))
    assert not runs.corresponds
    assert not runs.is_training


def test_revisions_of_one_name_correspond(tmp_path):
    runs = [
        written_run(tmp_path / f"step{n}", {}, weights=f"{n}", revision=f"r{n}" if has_name else None)
        for n, has_name in ((1, True), (2, True), (3, False), (4, False))
    ]
    assert runs_of(*runs[:2]).steps == {"step1": 1, "step2": 2}
    # Two folders of one name need not be of one training.
    assert not runs_of(*runs[2:]).corresponds


def test_a_copy_is_named_and_not_compared(tmp_path):
    first = written_run(tmp_path / "first", {}, created="2026-01-01T00:00:00")
    other = written_run(tmp_path / "other", {"Knowledge": [(0, 1)]}, created="2026-01-02T00:00:00")
    copy = shutil.copytree(first, tmp_path / "copy")
    runs = runs_of(first, copy, other)
    assert (list(runs), runs.copies) == (["first", "other"], {"copy": "first"})
    with pytest.raises(DataError, match="copy: it holds the same results as first"):
        hc.report([first, copy], tmp_path / "page.html")


def test_a_series_keeps_the_revisions_that_were_not_run():
    runs = read_runs(series_of({"step1": results_of(STRONG)}, listed=["step2"]), by="a test")
    assert (runs.names, list(runs), runs.alone) == (("step1", "step2"), ["step1"], None)


def test_points_of_a_training_are_protocols_that_differ_in_the_revision(tmp_path):
    folders = [checkpoint(tmp_path / f"run{n}", f"../models/step{n}", weights=str(n)) for n in (1, 2)]
    runs = runs_of(*folders)
    assert runs.differences == {}
    members = judge_protocols(runs, MapSpec()).members
    assert list(members) == ["denoising_patch@last, logit_diff, run1", "denoising_patch@last, logit_diff, run2"]
    assert set(pairs(agreement(members))["differ_in"]) == {"revision"}
