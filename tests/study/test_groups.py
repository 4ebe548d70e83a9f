"""A study of heads that share keys and values: groups beside single heads, and refusals."""

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from counting import constant

import headcats as hc
from headcats.base.errors import HeadcatsWarning, OptionError
from headcats.sweeps.joint import joint_sweep
from headcats.tasks.suites import make_suite

GROUPS = "denoising_patch:unit=kv_group"
METHODS = ["denoising_patch", "second_corruption_patch", GROUPS, "second_corruption_patch:unit=kv_group"]
# Without the task that the model cannot do, every task corrupts every other.
TASKS = {"always_a": "w40", "always_b": "w41", "always_c": "w42"}
SUITE = make_suite([constant(name, output, "knowledge") for name, output in TASKS.items()], name="constants")
OPTIONS = {"suite": SUITE, "n_prompts": 8, "n_demos": 2}


@pytest.fixture(scope="module")
def folder(model: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("groups") / "results"
    hc.run(model, methods=METHODS, out=path, progress=False, **OPTIONS)
    return path


@pytest.fixture(scope="module")
def tables(folder: Path) -> dict[str, xr.Dataset]:
    """Overlap of the single heads and of the groups."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HeadcatsWarning)
        results = hc.load(folder)
        return {name: hc.overlap(hc.categorize(hc.score(results, method=name))) for name in ("denoising_patch", GROUPS)}


def test_a_block_of_groups_is_the_joint_sweep_of_their_heads(model: Any, folder: Path) -> None:
    block = hc.load(folder)["always_a"][f"{GROUPS}@last"].to_dataset()
    (batch,) = hc.task_prompts(model, "always_a", **OPTIONS)
    assert block.key.values.tolist() == list(batch.keys)
    sets = [[(layer, head), (layer, head + 1)] for layer in range(2) for head in (0, 2)]
    joint = joint_sweep(model, batch, "denoising_patch", sets)
    assert np.abs(block.patched.values.reshape(1, 8, 4) - joint.patched.values).max() < 1e-5
    assert (block.attrs["unit"], json.loads(block.attrs["provenance"])["unit"]) == ("kv_group", "kv_group")


def test_names_of_groups_and_of_key_value_heads_reach_the_tables(tables: dict[str, xr.Dataset]) -> None:
    heads, groups = (hc.categories.head_table(table) for table in tables.values())
    assert heads["head"].tolist() == ["L0H0"]
    assert heads["kv_head"].tolist() == [0]
    assert groups["head"].tolist() == ["L0G0"]
    assert "kv_head" not in groups
    assert tables["denoising_patch"].kv_head.values.tolist() == [[0, 0, 1, 1]] * 2
    assert tables[GROUPS].attrs["unit"] == "kv_group"
    assert dict(tables[GROUPS].member.sizes) == {"category": 1, "layer": 2, "head": 2}


def test_a_model_without_groups_is_refused_before_anything_is_written(mini: Any, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="keys and values"):
        hc.run(mini, methods=["mean_ablation:unit=kv_group"], n_prompts=4, out=tmp_path / "never", progress=False)
    assert not (tmp_path / "never").exists()


def test_what_takes_single_heads_refuses_groups_by_name(model: Any, folder: Path) -> None:
    for take in (hc.run_evidence, hc.save_attention):
        with pytest.raises(OptionError, match=rf"{GROUPS}@last .*denoising_patch@last"):
            take(model, folder, method=GROUPS)
    # Where none is named, single heads are taken.
    assert hc.evidence.method_scores(hc.load(folder))["method"].values.tolist() == ["denoising_patch@last"]
