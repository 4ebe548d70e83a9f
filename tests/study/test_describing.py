"""A run keeps what its heads do: once, beside its blocks, and adds the tasks that are added."""

import shutil

import numpy as np
import pytest
import xarray as xr

import headcats as hc
from headcats.base.errors import StorageWarning
from headcats.categories.map_spec import MapSpec
from headcats.categories.run_maps import map_tables
from headcats.results.descriptors import DESCRIPTORS
from headcats.results.folder import ResultsFolder
from headcats.results.run_results import RunResults
from headcats.study.plan import plan
from headcats.study.preparation import Preparation
from headcats.sweeps.descriptors.describing import describe_prompts

TASKS = ["always_a", "always_b"]

THIN = pytest.mark.filterwarnings("ignore::headcats.base.errors.StatisticsWarning")  # few tasks of each category


def described(results: xr.DataTree) -> xr.Dataset:
    found = RunResults(results).descriptors
    assert found is not None
    return found


def test_it_is_what_describe_heads_says_of_the_scored_prompts(model, options, finished):
    found = described(hc.load(finished))
    distractors = RunResults(hc.load(finished)).manifest.distractors
    study = plan(suite=options["suite"], n_prompts=8, n_demos=2).changed(distractors=distractors)
    preparation = Preparation(model, study)
    prompts = [batch for task in TASKS for batch in preparation.of(task).scored]
    expected = hc.describe_heads(model, prompts=prompts)
    assert found["task"].values.tolist() == TASKS
    xr.testing.assert_allclose(found.drop_vars("category"), expected)
    assert found["direct_logit"].attrs == expected["direct_logit"].attrs
    assert found["category"].values.tolist() == [hc.load(finished)[task].attrs["category"] for task in TASKS]


def test_more_tasks_are_added_and_nothing_is_described_twice(model, options, finished, tmp_path, monkeypatch):
    path, of = tmp_path / "r", []
    options = options | {"methods": ["zero_ablation@last"]}
    hc.run(model, out=path, **options | {"tasks": ["always_b"]})
    monkeypatch.setattr(
        "headcats.study.runner.describe_prompts",
        lambda model, paths, by_task: of.append(list(by_task)) or describe_prompts(model, paths, by_task),
    )
    found = described(hc.run(model, out=path, **options | {"tasks": ["always_b", "always_a"]}))
    assert of == [["always_a"]]
    assert found["task"].values.tolist() == ["always_b", "always_a"]
    xr.testing.assert_allclose(found, described(hc.load(finished)).sel(task=["always_b", "always_a"]))


def test_what_is_not_there_is_made_by_the_next_run(model, options, finished, tmp_path):
    path = shutil.copytree(finished, tmp_path / "r")
    file = ResultsFolder(path).descriptors_path
    content, table = file.read_bytes(), described(hc.load(path))
    for left in (None, content[:1000]):
        file.unlink(missing_ok=True)
        if left:
            file.write_bytes(left)
        with pytest.warns(StorageWarning, match=r"descriptors\.nc"):
            assert RunResults(hc.load(path)).descriptors is None
    xr.testing.assert_identical(described(hc.run(model, out=path, **options)), table)
    assert file.read_bytes() == content


@THIN
def test_the_map_has_them_beside_the_heads_and_the_mean_of_each_category(finished):
    run = RunResults(hc.load(finished))
    overlap = map_tables(run, MapSpec())["overlap"]
    found = described(hc.load(finished))
    for name in set(DESCRIPTORS) - {"direct_logit"}:
        np.testing.assert_array_equal(overlap[name], found[name])
    for category in overlap["category"].values.tolist():
        of_category = found["direct_logit"].isel(task=found["category"].values == category)
        np.testing.assert_allclose(overlap["direct_logit"].sel(category=category), of_category.mean("task"))
    table = hc.categories.head_table(overlap)
    assert set(DESCRIPTORS) <= set(table.columns)
    first = table.iloc[0]
    head = hc.Head.parse(first["head"])
    assert first["copying"] == pytest.approx(float(found["copying"].sel(layer=head.layer, head=head.head)))
