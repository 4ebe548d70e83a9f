"""A run into a compact store, and a folder that is made compact: the same results, with the loss in every block."""

import logging
from dataclasses import replace

import numpy as np
import pytest

import headcats as hc
from headcats.base.errors import UnknownNameError
from headcats.results.compact import COMPACT, ROUNDED, WHOLE, loss_of
from headcats.results.merging import merge
from headcats.results.run_results import RunResults


@pytest.fixture(scope="module")
def options(options):
    return options | {"tasks": ["always_a"]}


@pytest.fixture(scope="module")
def finished(model, options, tmp_path_factory):
    """The folder of a small whole run; never written to."""
    path = tmp_path_factory.mktemp("whole") / "results"
    hc.run(model, out=path, **options)
    return path


def blocks(results):
    run = RunResults(results)
    return {(task, label): run.block(task, label) for task, labels in run.tasks.items() for label in labels}


def assert_alike(first, second):
    """The same but for the rounding, which is small."""
    first, second = blocks(first), blocks(second)
    assert list(first) == list(second)
    for key, block in first.items():
        other = second[key]
        assert other.drop_attrs().drop_vars("patched").identical(block.drop_attrs().drop_vars("patched"))
        base = block[block.attrs["base"]]
        allowed = 2**-11 * np.abs(block.patched - base).max().item() + 1e-6
        assert np.abs(other.patched - block.patched).max() <= allowed


def test_a_compact_run_gives_what_a_whole_one_gives_and_says_what_it_lost(model, options, finished, tmp_path, caplog):
    with caplog.at_level(logging.INFO, logger="headcats"):
        small = hc.run(model, out=tmp_path / "small", store="compact", **options)
    assert_alike(hc.load(finished), small)
    assert {loss_of(block).store for block in blocks(small).values()} == {COMPACT}
    assert {loss_of(block) for block in blocks(hc.load(finished)).values()} == {None}
    (line,) = [record.message for record in caplog.records if "compactly" in record.message]
    assert f"{len(blocks(small))} of {len(blocks(small))} blocks" in line
    scores, exact = (
        hc.score(results, method="denoising_patch", metric="logit_diff") for results in (small, hc.load(finished))
    )
    assert np.abs(scores.effect - exact.effect).max() < 1e-3


def test_a_compact_run_goes_on_whole_or_compact(model, options, tmp_path, files):
    out = tmp_path / "r"
    hc.run(model, out=out, store="compact", **options | {"methods": ["denoising_patch"]})
    before = files(out, "blocks/**/*.nc")
    more = hc.run(model, out=out, **options)
    assert {name: files(out, "blocks/**/*.nc")[name] for name in before} == before
    stores = {label: loss_of(block) is not None for (_, label), block in blocks(more).items()}
    assert stores == {"denoising_patch@last": True, "mean_ablation@all": False}


def test_merging_makes_a_folder_compact_and_whole_again(finished, tmp_path):
    small = merge([finished], out=tmp_path / "small", store="compact")
    assert_alike(hc.load(finished), small)
    whole = merge([tmp_path / "small"], out=tmp_path / "whole")
    for key, block in blocks(small).items():
        again_whole = blocks(whole)[key]
        assert again_whole.drop_attrs(deep=False).identical(block.drop_attrs(deep=False))
        assert loss_of(again_whole) == replace(loss_of(block), store=WHOLE)
        assert {**again_whole.attrs, ROUNDED: ""} == {**block.attrs, ROUNDED: ""}
    again = merge([tmp_path / "small"], out=tmp_path / "again", store="compact")
    for key, block in blocks(small).items():
        assert loss_of(blocks(again)[key]).largest >= loss_of(block).largest
    for folders in ([finished, tmp_path / "small"], [tmp_path / "small", finished]):
        best = merge(folders, out=tmp_path / f"best of {folders[0].name}")
        assert {loss_of(block) for block in blocks(best).values()} == {None}


def test_another_store_is_refused_before_anything_is_written(model, options, finished, tmp_path):
    with pytest.raises(UnknownNameError, match="compact"):
        hc.run(model, out=tmp_path / "r", store="small", **options)
    with pytest.raises(UnknownNameError, match="compact"):
        merge([finished], out=tmp_path / "m", store="small")
    assert list(tmp_path.iterdir()) == []
