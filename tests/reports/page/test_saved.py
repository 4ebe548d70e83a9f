"""What is saved of robustness comes back whole, or is named as damaged."""

import json
import re
import warnings
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from simulated import block, tree

import headcats as hc
from headcats.categories.reading import Reading
from headcats.errors import DamagedFileError, HeadcatsWarning, StorageError
from headcats.reports.page import saved
from headcats.reports.page.saved import Robustness, robustness_folder, save_robustness, saved_robustness
from headcats.results import tables
from headcats.results.whole_file import write_whole

WHERE = "evidence/robustness"


@pytest.fixture
def found() -> Robustness:
    """Two protocols on two tasks."""
    draw = np.random.default_rng(0)
    blocks = {f"task{task}": block(draw.normal(0.1, 0.02, (12, 2, 3))) for task in range(2)}
    results = tree(blocks, categories={"task0": "Knowledge", "task1": "Linguistic"})
    for name, one in blocks.items():
        results[f"/{name}/noising_patch@last"] = one.assign_attrs(base="clean", method="noising_patch")
    methods = ["denoising_patch@last", "noising_patch@last"]
    results.attrs["manifest"] = json.dumps({"plan": {"metrics": ["logit_diff"]}, "model": {}, "methods": methods})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HeadcatsWarning)
        judged = hc.evidence.judge_protocols({"one": results})
    return Robustness(hc.evidence.agreement(judged.members), judged.members, {"other": "a control"}, None)


def test_what_is_saved_comes_back(found: Robustness, tmp_path: Path):
    save_robustness(tmp_path, WHERE, found)
    back = saved_robustness(tmp_path, WHERE)
    assert back is not None
    xr.testing.assert_identical(back.agreement.drop_attrs(), found.agreement.drop_attrs())
    assert list(back.members) == list(found.members)
    for name, members in found.members.items():
        for variable in ("member", "suppressing", "effect"):
            xr.testing.assert_identical(back.members[name][variable], members[variable])
    assert back.left_out == found.left_out
    assert back.halves is None


def test_a_later_call_leaves_nothing_of_an_earlier_one(found: Robustness, tmp_path: Path):
    halves = xr.Dataset({"jaccard": ("category", [0.5])}, {"category": ["Knowledge"]}, {"title": "one"})
    save_robustness(tmp_path, WHERE, Robustness(found.agreement, found.members, {}, halves))
    first = dict(list(found.members.items())[:1])
    save_robustness(tmp_path, WHERE, Robustness(found.agreement, first, {}, None))
    back = saved_robustness(tmp_path, WHERE)
    assert back is not None
    assert back.halves is None
    assert list(back.members) == list(first)


def test_nothing_saved_is_none_and_damage_is_said(found: Robustness, tmp_path: Path):
    assert saved_robustness(tmp_path, WHERE) is None
    save_robustness(tmp_path, WHERE, found)
    path = tmp_path / WHERE / "agreement.nc"
    path.write_bytes(b"damaged")
    with pytest.raises(StorageError, match=rf"{re.escape(str(path))} .*headcats compare"):
        saved_robustness(tmp_path, WHERE)


def test_a_table_without_names_is_damaged(found: Robustness, tmp_path: Path):
    bare = found.agreement.drop_vars("category")
    for agreement in (bare, bare.assign_coords(category=range(bare.sizes["category"]))):
        save_robustness(tmp_path, WHERE, Robustness(agreement, found.members, {}, None))
        with pytest.raises(DamagedFileError, match="along category"):
            saved_robustness(tmp_path, WHERE)


def test_what_is_not_the_default_is_in_the_name():
    folders = {
        robustness_folder(Reading()),
        robustness_folder(Reading(rule=hc.rules.fdr(alpha=0.01))),
        robustness_folder(Reading(min_tasks=2)),
        robustness_folder(Reading(sign="suppressing")),
    }
    assert WHERE in folders
    assert len(folders) == 4


def test_a_call_that_is_stopped_leaves_nothing_that_looks_whole(found: Robustness, tmp_path: Path, monkeypatch):
    save_robustness(tmp_path, WHERE, found)
    other = {name: members.assign_attrs(another="call") for name, members in found.members.items()}

    def stopped(path: Path, data: bytes) -> None:
        if path.name == "agreement.nc":
            raise KeyboardInterrupt
        write_whole(path, data)

    with monkeypatch.context() as patched:
        patched.setattr(saved, "write_whole", stopped)
        with pytest.raises(KeyboardInterrupt):
            save_robustness(tmp_path, WHERE, Robustness(found.agreement, other, {}, None))
    monkeypatch.setattr(tables, "_PAUSE", 0.0)
    with pytest.raises(DamagedFileError, match="of two calls"):
        saved_robustness(tmp_path, WHERE)
