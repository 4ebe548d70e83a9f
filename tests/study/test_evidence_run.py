"""From a results folder to its evidence: the same model, the same suite, new prompts, files written whole."""

import json
import shutil

import numpy as np
import pytest
import xarray as xr
from counting import SUITE, counting_folder, counting_suite

import headcats as hc
from headcats import registry
from headcats.categories.reading import EVIDENCE_TABLES
from headcats.errors import DataError, OptionError, PlanError, StorageError, UnknownNameError
from headcats.results.run_results import RunResults
from headcats.scores.items import first_half
from headcats.study import evidence_run
from headcats.study.evidence_run import run_evidence
from headcats.study.preparation import Preparation
from headcats.study.restore import restored_study
from headcats.tasks.suites import make_suite

pytestmark = pytest.mark.filterwarnings("ignore::headcats.errors.StatisticsWarning")
QUICK = {"n_prompts": 8, "relabellings": 19}


@pytest.fixture(scope="module")
def finished(model, tmp_path_factory):
    """A study with enough query items for a half of them to decide; never written to."""
    path = tmp_path_factory.mktemp("finished") / "results"
    suite = counting_suite(shifted_corrupts=True)
    hc.run(model, suite=suite, n_prompts=40, n_demos=2, methods=["denoising_patch", "mean_ablation"], out=path)
    return path


@pytest.fixture(scope="module")
def evidence(model, finished, tmp_path_factory):
    """Evidence of that study, and the folder that holds it."""
    folder = tmp_path_factory.mktemp("evidence") / "results"
    shutil.copytree(finished, folder)
    return run_evidence(model, folder, **QUICK), folder


def test_it_is_public():
    assert hc.run_evidence is run_evidence


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


def test_the_counting_head_is_found_and_too_few_tasks_are_no_verdict(evidence):
    found, _ = evidence
    table = found["specificity"]
    # Without Linguistic's only task there is no other category to be specific against, so no heads for it.
    tested = table["heads"].sel(category="Knowledge").values.tolist()
    assert ["L0H0" in names.split() for names in tested] == [True, True, False]
    assert set(found["relabelling"]["verdict"].values.tolist()) == {"inconclusive"}
    assert found.attrs["reading"].startswith("These")


def test_a_tree_in_memory_writes_nothing(model, finished, evidence, files):
    before = files(finished)
    found = run_evidence(model, hc.load(finished), **QUICK)
    assert files(finished) == before
    for name in EVIDENCE_TABLES:
        assert found[name].to_dataset().identical(evidence[0][name].to_dataset())


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
        assert set(seen["held"].items[task]) == chosen | others
    assert set(seen["held"].batches) == {"always_a", "always_b", "always_c"}


def test_another_method_can_choose_the_heads(model, finished):
    found = run_evidence(model, hc.load(finished), method="mean_ablation", **QUICK)
    assert json.loads(found.attrs["options"])["method"] == "mean_ablation@all"
    again = run_evidence(model, hc.load(finished), method="mean_ablation@all", **QUICK)
    assert again["specificity"].to_dataset().identical(found["specificity"].to_dataset())


def test_all_positions(model, finished):
    found = run_evidence(model, hc.load(finished), positions="all", **QUICK)
    assert json.loads(found.attrs["options"])["positions"] == "all"
    assert found["specificity"]["damage"].sel(category="Knowledge", target="Knowledge") > 0.02


# ------------------------------------------------------------------------------------------------------- bad input
def test_another_model_is_refused_by_its_weights(finished, tmp_path):
    other = hc.load_model(counting_folder(tmp_path / "other", seed=1), device="cpu")
    with pytest.raises(PlanError, match=r"\(weights_hash: '\w+' there, '\w+'[^;]*\)"):
        run_evidence(other, finished, **QUICK)


def test_results_without_their_suite_need_a_registered_one(model, finished, tables):
    results = hc.load(finished)
    del results.attrs["suite"]
    assert len(run_evidence(model, results, **QUICK)) == 5
    small = registry.lookup("suite", SUITE)
    registry.register(
        "suite", SUITE, lambda: make_suite([task for task in small().tasks if task.name != "always_b"], name=SUITE)
    )
    with pytest.raises(PlanError, match="gives other prompts"):
        run_evidence(model, results, **QUICK)
    del registry._tables["suite"][SUITE]
    with pytest.raises(PlanError, match=r"'counting', which is not found.*--suite path/to/file\.py:name"):
        run_evidence(model, results, **QUICK)


WRONG = {
    "prompts": ({"n_prompts": 1}, OptionError, "n_prompts must be a whole number of at least 2; got 1"),
    "relabellings": ({"relabellings": 18}, OptionError, "relabellings must be a whole number of at least 19; got 18"),
    "positions": ({"positions": "x1"}, OptionError, "positions must be 'last' or 'all'; got 'x1'"),
    "method": ({"method": "denoising"}, UnknownNameError, "no block of 'denoising'; they hold denoising_patch@last"),
    "metric": ({"metric": "prob"}, UnknownNameError, "prob"),
}


@pytest.mark.parametrize("what", WRONG)
def test_wrong_options_are_one_sentence(model, finished, what):
    options, error, message = WRONG[what]
    with pytest.raises(error, match=message):
        run_evidence(model, finished, **options)
    assert not (finished / "evidence").exists()


def test_no_folder_and_no_manifest(model, finished, tmp_path):
    with pytest.raises(StorageError, match="not a results folder"):
        run_evidence(model, tmp_path / "nowhere")
    bare = hc.load(finished)
    del bare.attrs["manifest"]
    with pytest.raises(DataError, match="have no manifest"):
        run_evidence(model, bare)


def test_model_and_results_swapped(finished):
    for first in (finished, hc.load(finished)):
        with pytest.raises(DataError, match=r"model first .*second"):
            run_evidence(first, "mini")


def test_a_model_is_loaded_by_its_folder(finished, tmp_path, monkeypatch):
    def examine(model, held, halves, *, options, **more):
        raise DataError(f"examined {model.name}")

    monkeypatch.setattr(evidence_run, "examine", examine)
    with pytest.raises(DataError, match="examined"):
        run_evidence(counting_folder(tmp_path / "same"), hc.load(finished), **QUICK)


def test_a_name_is_loaded_in_the_dtype_of_the_results(tmp_path, monkeypatch):
    folder = counting_folder(tmp_path / "model")
    half = hc.load_model(folder, dtype="bfloat16")
    results = hc.run(half, suite=SUITE, n_prompts=40, n_demos=2, methods=["denoising_patch"])

    def examine(model, held, halves, *, options, **more):
        raise DataError(f"examined in {model.dtype}")

    monkeypatch.setattr(evidence_run, "examine", examine)
    with pytest.raises(DataError, match=r"examined .*torch\.bfloat16"):
        run_evidence(folder, results, **QUICK)


def test_heads_of_a_control_are_no_category(model):
    controls = ["second_corruption_patch", "other_item_patch"]
    results = hc.run(model, suite=SUITE, n_prompts=8, n_demos=2, methods=["denoising_patch", *controls])
    for method in (controls[0], f"{controls[1]}@last"):
        with pytest.raises(OptionError, match="@last is a control") as refused:
            run_evidence(model, results, method=method)
        assert str(refused.value).startswith(method.partition("@")[0])
        assert str(refused.value).endswith(" denoising_patch@last.")
    for node in results.children.values():
        if "denoising_patch@last" in node.children:
            del node["denoising_patch@last"]
    with pytest.raises(OptionError, match=r"control.*another method"):
        run_evidence(model, results)


def test_few_items_still_give_a_result(model, finished):
    """Six prompts per task leave about three items to choose by."""
    few = hc.run(model, suite=SUITE, n_prompts=6, n_demos=2, methods=["denoising_patch"])
    found = run_evidence(model, few, **QUICK)
    assert set(found["relabelling"]["verdict"].values.tolist()) == {"inconclusive"}
    assert all(sentence for sentence in found.attrs["reading"].splitlines())


def test_items_of_one_half_alone_are_one_sentence(model, finished):
    results = hc.load(finished)
    for task, labels in RunResults(results).tasks.items():
        for name in labels:
            block = results[task][name].to_dataset()
            kept = [place for place, item in enumerate(block["item"].values) if first_half(str(item), seed=0)]
            results[task][name] = xr.DataTree(block.isel(prompt=kept))
    with pytest.raises(DataError, match=r"one half alone.*several query items"):
        run_evidence(model, results, **QUICK)
