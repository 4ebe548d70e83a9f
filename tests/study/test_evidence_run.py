"""From a results folder to its evidence: the same model, the same suite, new prompts, files written whole."""

import json
import pickle
import shutil

import numpy as np
import pytest
import xarray as xr
from counting import SUITE, counting_suite
from in_process import InProcess

import headcats as hc
from headcats.base.errors import DataError, OptionError, PlanError, StorageError, UnknownNameError
from headcats.categories.map_spec import EVIDENCE_TABLES
from headcats.evidence.damage import Ablation
from headcats.results.cached_tables import TableCache
from headcats.results.loading import open_results
from headcats.results.place import find_place
from headcats.results.run_results import RunResults
from headcats.scores.blocks import first_half
from headcats.study import evidence_run
from headcats.study.evidence_run import run_evidence
from headcats.study.preparation import Preparation
from headcats.study.restore import restored_study

pytestmark = pytest.mark.filterwarnings("ignore::headcats.base.errors.StatisticsWarning")
QUICK = {"n_prompts": 8, "relabellings": 19}


@pytest.fixture(scope="module")
def finished(model, tmp_path_factory):
    """A study with enough query items for a half of them to decide; never written to."""
    path = tmp_path_factory.mktemp("finished") / "results"
    suite = counting_suite(shifted_corrupts=True)
    hc.run(model, suite=suite, n_prompts=40, n_demos=2, methods=["denoising_patch", "zero_ablation@last"], out=path)
    return path


@pytest.fixture(scope="module")
def evidence(model, finished, tmp_path_factory):
    """Evidence of that study, and the folder that holds it."""
    folder = tmp_path_factory.mktemp("evidence") / "results"
    shutil.copytree(finished, folder)
    return run_evidence(model, folder, **QUICK), folder


def test_every_node_is_saved_as_it_is_returned(evidence):
    found, folder = evidence
    assert sorted(path.name for path in (folder / "evidence").iterdir()) == sorted(
        f"{name}.nc" for name in EVIDENCE_TABLES
    )
    for name in EVIDENCE_TABLES:
        with xr.open_dataset(folder / "evidence" / f"{name}.nc", engine="h5netcdf") as stored:
            for variable, values in found[name].to_dataset().data_vars.items():
                np.testing.assert_array_equal(stored[variable].values, values.values)
            assert stored.attrs["reading"] == found.attrs["reading"]
    options = json.loads(found.attrs["options"])
    assert options["method"] == "denoising_patch@last"
    assert options["metric"] == "logit_diff"
    assert options["suite"] == SUITE
    assert (options["n_prompts"], options["relabellings"], options["positions"]) == (8, 19, "last")


def test_a_call_that_was_stopped_goes_on_from_what_it_measured(model, finished, evidence, tmp_path, monkeypatch):
    folder, done = shutil.copytree(finished, tmp_path / "results"), []
    on = Ablation.on

    def counted(piece, *given):
        if len(done) == stop:
            raise KeyboardInterrupt
        done.append(piece.title)
        return on(piece, *given)

    monkeypatch.setattr(Ablation, "on", counted)
    monkeypatch.setattr("headcats.study.evidence_work._expected", lambda *given: 0.0)
    stop = 3
    with pytest.raises(KeyboardInterrupt):
        run_evidence(model, folder, **QUICK)
    assert not (folder / "evidence").exists()
    stop = -1
    again = run_evidence(model, folder, **QUICK)
    assert len(done) == len(set(done)) > 3  # nothing twice
    whole, _ = evidence
    for name in EVIDENCE_TABLES:
        xr.testing.assert_identical(again[name].to_dataset(), whole[name].to_dataset())
    # Of other blocks nothing is taken.
    for path in (folder / ".kept").glob("*.nc"):
        path.write_bytes(b"damaged")
    done.clear()
    xr.testing.assert_identical(run_evidence(model, folder, **QUICK)["relabelling"], again["relabelling"])
    assert len(done) > 3


def test_workers_give_the_same_numbers(model, finished, evidence):
    """What they are sent can be sent, and they need nothing else; of results in memory nothing is kept."""
    cluster, sent = InProcess(), []

    def map_sent(calls, *, shared=None):
        for call in calls:
            copied, inputs = pickle.loads(pickle.dumps((call, shared)))
            sent.append(call.title)
            assert not copied.halves()
            assert copied.group
            yield call, copied.on(cluster.model, inputs)

    cluster.map = map_sent
    found = run_evidence(model, hc.load(finished), cluster=cluster, memory="1GB", **QUICK)
    whole, _ = evidence
    assert sent
    xr.testing.assert_allclose(found["relabelling"].to_dataset(), whole["relabelling"].to_dataset())


def test_what_was_measured_outlives_other_commands(model, finished, tmp_path):
    folder = shutil.copytree(finished, tmp_path / "results")
    run_evidence(model, folder, **QUICK)
    pieces = {path.name for path in (folder / ".kept").glob("model-*.nc")}
    assert pieces
    run = open_results(find_place(folder))
    TableCache(run).write("other", {"table": xr.Dataset({"x": 1.0})})
    assert {path.name for path in (folder / ".kept").glob("model-*.nc")} == pieces
    TableCache(run, of_model="other versions").write("other", {"table": xr.Dataset({"x": 1.0})})
    kept = {path.name for path in (folder / ".kept").glob("*.nc")}
    assert not kept & pieces
    assert len(kept) == 2


def test_a_cluster_that_is_none_is_refused(model, finished):
    with pytest.raises(OptionError, match=r"hc\.Cluster"):
        run_evidence(model, finished, cluster="here", **QUICK)


def test_the_counting_head_is_found_and_too_few_tasks_are_no_verdict(evidence):
    found, _ = evidence
    table = found["specificity"]
    # Without Linguistic's only task there is no other category to be specific against, so no heads for it.
    tested = table["heads"].sel(category="Knowledge").values.tolist()
    assert ["L0H0" in names.split() for names in tested] == [True, True, False]
    assert set(found["relabelling"]["verdict"].values.tolist()) == {"inconclusive"}
    assert "can be labelled in only" in found.attrs["reading"]


def test_heads_are_chosen_and_tested_on_different_items_and_prompts(model, finished, monkeypatch):
    seen = {}

    def examine(model, held, halves, *, options, **more):
        seen.update(held=held, halves=halves)
        raise DataError("enough")

    monkeypatch.setattr(evidence_run, "examine", examine)
    with pytest.raises(DataError, match="enough"):
        run_evidence(model, finished, **QUICK, seed=3)
    results = hc.load(finished)
    study = restored_study(RunResults(results))
    for task, prepared in Preparation(model, study).prepared.items():
        if task not in seen["held"].batches:
            continue
        old = {tuple(row) for batch in prepared.scored + prepared.reference for row in batch.clean.tolist()}
        new = [tuple(row) for batch in seen["held"].batches[task] for row in batch.clean.tolist()]
        assert new
        assert not set(new) & old
        assert not any(first_half(item, seed=3) for batch in seen["held"].batches[task] for item in batch.items)
        block = results[task]["denoising_patch@last"].to_dataset()
        chosen = {item for item in block["item"].values if first_half(item, seed=3)}
        assert seen["halves"][0]["n_items"].sel(task=task).item() == len(chosen)
        others = set(block["item"].values) - chosen
        assert seen["halves"][1]["n_items"].sel(task=task).item() == len(others)
    assert seen["held"].source_of == dict.fromkeys(["always_a", "always_b", "always_c"], "always_a")  # the same inputs
    assert seen["held"].batches.keys() == seen["held"].source_of.keys()


def test_another_method_can_choose_the_heads_and_positions(model, finished, files):
    """Results are a tree in memory, so nothing is written."""
    before = files(finished)
    found = run_evidence(model, hc.load(finished), method="zero_ablation", positions="all", **QUICK)
    options = json.loads(found.attrs["options"])
    assert files(finished) == before
    assert (options["method"], options["positions"]) == ("zero_ablation@last", "all")
    assert found["specificity"]["damage"].sel(category="Knowledge", target="Knowledge") > 0.02


# ------------------------------------------------------------------------------------------------------- bad input
def test_another_model_is_refused_by_its_weights(finished, other_model):
    with pytest.raises(PlanError, match=r"\(weights_hash: '\w+' there, '\w+'[^;]*\)"):
        run_evidence(other_model, finished, **QUICK)


@pytest.mark.parametrize(
    ("options", "error", "named"),
    [
        ({"n_prompts": 1}, OptionError, r"n_prompts .*2; got 1"),
        ({"relabellings": 18}, OptionError, r"relabellings .*19; got 18"),
        ({"positions": "x1"}, OptionError, r"positions .*'x1'"),
        ({"method": "denoising"}, UnknownNameError, r"'denoising'.* denoising_patch@last"),
        ({"metric": "prob"}, UnknownNameError, "prob"),
    ],
)
def test_wrong_options_are_one_sentence(model, finished, options, error, named):
    with pytest.raises(error, match=named):
        run_evidence(model, finished, **options)
    assert not (finished / "evidence").exists()


def test_what_are_no_results_with_a_manifest_is_refused(model, finished, tmp_path):
    with pytest.raises(StorageError, match="nowhere"):
        run_evidence(model, tmp_path / "nowhere")
    bare = hc.load(finished)
    del bare.attrs["manifest"]
    with pytest.raises(DataError, match="manifest"):
        run_evidence(model, bare)
    for first in (finished, hc.load(finished)):
        with pytest.raises(DataError, match=r"model first .*second"):
            run_evidence(first, "mini")


def test_a_model_is_loaded_by_its_folder_in_the_dtype_of_the_results(model_folder, options, monkeypatch):
    half = hc.load_model(model_folder, dtype="bfloat16", device="cpu")
    results = hc.run(half, **options | {"tasks": ["always_a"], "methods": ["denoising_patch"]})

    def examine(model, held, halves, *, options, **more):
        raise DataError(f"{model.name} in {model.dtype}")

    monkeypatch.setattr(evidence_run, "examine", examine)
    with pytest.raises(DataError, match=rf"{model_folder.name} in torch\.bfloat16"):
        run_evidence(model_folder, results, **QUICK)


def test_heads_of_a_control_are_no_category(model):
    controls = ["second_corruption_patch", "other_item_patch"]
    options = {"suite": SUITE, "n_prompts": 8, "n_demos": 2, "tasks": ["always_a"]}
    results = hc.run(model, methods=["denoising_patch", *controls], **options)
    for method in (controls[0], f"{controls[1]}@last"):
        with pytest.raises(OptionError, match=rf"{method.partition('@')[0]}@last is a control.* denoising_patch@last"):
            run_evidence(model, results, method=method)
    del results["always_a"]["denoising_patch@last"]
    with pytest.raises(OptionError, match="control"):
        run_evidence(model, results)
