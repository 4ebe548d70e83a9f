"""One study over several checkpoints: each as it would be alone, in order, resumed and extended."""

import gc
import os
import shutil
import weakref
from types import SimpleNamespace

import numpy as np
import pytest
import xarray as xr
from counting import constant, counting_checkpoints, counting_folder

import headcats as hc
from headcats.base.errors import DamagedFileError, ModelError, OptionError, PlanError, StorageError, StorageWarning
from headcats.results.run_results import RunResults
from headcats.results.series import SERIES, series_record
from headcats.results.sources import located, source_of
from headcats.scale import series_run
from headcats.study.restore import restored_model
from headcats.tasks.suites import make_suite

pytestmark = pytest.mark.filterwarnings("ignore:Categories of a single task:headcats.base.errors.StatisticsWarning")

STEPS = ["step0", "step10", "step20"]
TWO_TASKS = make_suite([constant(f"always_{name}", word, "knowledge") for name, word in (("a", "w40"), ("b", "w41"))])
PLAN = {"suite": TWO_TASKS, "methods": ["denoising_patch"], "n_prompts": 12, "n_demos": 2, "progress": False}
ONE_TASK = PLAN | {"tasks": ["always_a"]}


@pytest.fixture(scope="module", autouse=True)
def _models_are_too_small_to_be_collected():
    """Nearly all that lives in a test run is none of the models, and going through it takes longer than scoring."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(series_run, "gc", SimpleNamespace(collect=lambda: None))
        yield


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory):
    return counting_checkpoints(tmp_path_factory.mktemp("counting"))


@pytest.fixture(scope="module")
def folder(checkpoints, tmp_path_factory):
    """A finished series; never written to."""
    out = tmp_path_factory.mktemp("series") / "out"
    hc.run_series(checkpoints, [*STEPS[1:], STEPS[0]], out=out, loader={"device": "cpu"}, **PLAN)
    return out


def files(folder):
    """Every file of results, with the time of its last change."""
    return {path.relative_to(folder): path.stat().st_mtime_ns for path in folder.rglob("*.nc")}


def test_revisions_come_in_the_order_of_their_steps(folder, checkpoints):
    series = hc.load(folder)
    assert list(series) == STEPS
    record = series_record(series)
    assert record.model == checkpoints.name
    assert [revision.step for revision in record.revisions] == [0, 10, 20]
    sources = [located(revision.source, folder) for revision in record.revisions]
    assert sources == [os.path.relpath(checkpoints / step) for step in STEPS]
    hashes = [RunResults(series[step]).manifest.model.weights_hash for step in STEPS]
    assert [revision.weights_hash for revision in record.revisions] == hashes
    assert len(set(hashes)) == 3


def test_each_revision_is_what_a_run_of_its_own_gives(folder, checkpoints, tmp_path):
    model = hc.load_model(checkpoints / "step10", tokenizer=checkpoints, device="cpu")
    alone = hc.run(model, out=tmp_path / "alone", **PLAN)
    for one in (hc.load(folder / "step10"), hc.load(folder)["step10"]):
        assert list(one) == list(alone)
        for task, labels in RunResults(alone).tasks.items():
            for label in labels:
                block, again = (tree[f"{task}/{label}"].to_dataset() for tree in (alone, one))
                xr.testing.assert_equal(again, block)
                assert again.attrs["fingerprint"] == block.attrs["fingerprint"]
        first, second = RunResults(one).manifest, RunResults(alone).manifest
        assert (first.plan, first.tasks, first.distractors) == (second.plan, second.tasks, second.distractors)


def test_a_revision_is_loaded_again_with_the_tokenizer_that_it_borrowed(folder, checkpoints, monkeypatch):
    monkeypatch.chdir(folder.parent)  # paths of results are those from their folder
    run = RunResults(hc.load(folder)["step10"])
    assert not os.path.isabs(run.manifest.model.tokenizer)
    again = restored_model(run, source_of(run.manifest.model, folder / "step10"))
    assert again.origin.tokenizer == str(checkpoints.resolve())
    assert again.weights_hash() == run.manifest.model.weights_hash


def test_a_revision_that_can_do_no_task_is_kept_as_such(folder):
    run = RunResults(hc.load(folder)["step0"])
    assert run.scored == []
    assert set(run.manifest.skipped()) == {"always_a", "always_b"}
    assert all(record.accuracy < 0.5 for record in run.manifest.tasks.values())


def test_a_stopped_series_goes_on_where_it_was_with_one_model_at_a_time(checkpoints, folder, tmp_path, monkeypatch):
    score, out, steps = series_run.score_study, tmp_path / "out", STEPS[1:]
    loaded, alive = [], []

    def load(source, **options):
        alive.append(sum(model() is not None for model in loaded))
        model = hc.load_model(source, **options)
        loaded.append(weakref.ref(model.model))
        return model

    def stopped(model, *arguments, **options):
        if model.name == "step20":
            raise KeyboardInterrupt
        score(model, *arguments, **options)

    monkeypatch.setattr(series_run, "gc", gc)
    monkeypatch.setattr(series_run, "load_model", load)
    monkeypatch.setattr(series_run, "score_study", stopped)
    with pytest.raises(KeyboardInterrupt):
        hc.run_series(checkpoints, steps, out=out, **ONE_TASK)
    assert alive == [0] * 4  # looked at, then scored
    stopped_at = hc.load(out)
    assert list(stopped_at) == ["step10"]
    assert [revision.name for revision in series_record(stopped_at).revisions] == steps
    before = files(out)
    monkeypatch.undo()
    again = hc.run_series(checkpoints, steps, out=out, **ONE_TASK)
    assert before.items() <= files(out).items()
    label = "always_a/denoising_patch@last"
    xr.testing.assert_equal(again["step20"][label].to_dataset(), hc.load(folder / "step20")[label].to_dataset())


def test_a_series_is_extended_by_revisions_of_the_same_plan(checkpoints, tmp_path):
    out = tmp_path / "out"
    hc.run_series(checkpoints, ["step20"], out=out, **ONE_TASK)
    with pytest.raises(PlanError, match="seed"):
        hc.run_series(checkpoints, ["step10"], out=out, **ONE_TASK | {"seed": 1})
    other = TWO_TASKS.with_tasks(constant("always_b", "w43", "knowledge"))
    with pytest.raises(PlanError, match="'always_b'"):
        hc.run_series(checkpoints, ["step10"], out=out, **ONE_TASK | {"suite": other})
    assert not (out / "step10").exists()
    before = files(out)
    hc.run_series(checkpoints, ["step10"], out=out, **ONE_TASK)
    assert before.items() <= files(out).items()
    assert list(hc.load(out)) == ["step10", "step20"]


def test_bad_revisions_leave_nothing_behind(checkpoints, tmp_path, others):
    wrong = [
        ([], OptionError, r"revision.*\[\]"),
        ("step10", OptionError, "'step10'"),
        (["step10", "step11"], ModelError, "'step11'.*'step10'"),
        (["step10", "step10"], OptionError, "'step10'"),
        (["step10", "copy"], ModelError, "'step10' and 'copy' .*weights"),
        (["step10", "large"], ModelError, r"'step10' \(2 .*'large' \(3 "),
    ]
    for revisions, error, named in wrong:
        by_path = [others.get(name, name) for name in revisions] if isinstance(revisions, list) else revisions
        with pytest.raises(error, match=named):
            hc.run_series(checkpoints, by_path, out=tmp_path / "out", **PLAN)
        assert not (tmp_path / "out").exists()
    with pytest.raises(OptionError, match="revision"):
        hc.run_series(checkpoints, ["step10"], out=tmp_path / "out", loader={"revision": "main"}, **PLAN)


@pytest.fixture(scope="module")
def others(tmp_path_factory):
    """Name -> path of a folder elsewhere: the weights of `step10` again, and a model of more layers."""
    home = tmp_path_factory.mktemp("others")
    return {"copy": counting_folder(home / "copy"), "large": counting_folder(home / "large", n_layers=3)}


def test_the_folder_of_one_model_is_no_series(checkpoints, folder, tmp_path):
    with pytest.raises(StorageError, match="one model"):
        hc.run_series(checkpoints, ["step20"], out=folder / "step10", **PLAN)
    assert not (folder / "step10" / SERIES).exists()


def test_a_series_with_a_damaged_list_and_manifest_is_made_whole_again(checkpoints, folder, tmp_path):
    path = shutil.copytree(folder, tmp_path / "series")
    manifest, listed = path / "step20" / "manifest.json", path / SERIES
    manifest.write_bytes(manifest.read_bytes()[:-9])
    with pytest.warns(StorageWarning, match="step20"):
        assert "step20" not in hc.load(path)
    listed.write_bytes(listed.read_bytes()[:-9])
    with pytest.raises(DamagedFileError, match="is damaged"):
        hc.load(path)
    assert list(hc.run_series(checkpoints, STEPS, out=path, **PLAN)) == STEPS
    assert hc.load(path / "step20").equals(hc.load(folder / "step20"))


def test_a_head_that_takes_the_place_of_another_is_found(folder):
    """The planted truth: L0H0 counts at step 10, L0H1 at step 20."""
    course = hc.evidence.over_revisions(hc.load(folder)).sel(category="Knowledge")
    last = course.sel(revision="step20")
    changes = {(0, 0): -1, (0, 1): 1}
    for layer, head in np.ndindex(last.sizes["layer"], last.sizes["head"]):
        cell = last.isel(layer=layer, head=head)
        assert int(cell.change) == changes.get((layer, head), 0)
        assert bool(cell.change_found) == ((layer, head) in changes)
    assert np.isnan(course["size"].sel(revision="step0"))
    assert course["before"].values.tolist() == ["", "", "step10"]
    assert course["n_skipped"].values.tolist() == [2, 0, 0]
