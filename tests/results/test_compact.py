"""Compact blocks: half the space, a loss that is measured, and the block as it was for whoever reads it."""

import json

import numpy as np
import pytest
import xarray as xr
from covering import pairwise
from for_each import for_each
from results.folders import LABEL, manifest

import headcats as hc
from headcats.base.errors import DamagedFileError
from headcats.results import compact
from headcats.results.compact import COMPACT, ROUNDED, WHOLE, compacted, loss_of, losses_text, restored
from headcats.results.folder import ResultsFolder


def causal(effect=0.3, scatter=0.1, *, prompts=64, base="corrupted", scale=1.0, seed=0):
    """A block of 12 x 16 heads."""
    draws = np.random.default_rng(seed)
    clean, corrupted = draws.normal(5, 1, prompts), draws.normal(-5, 1, prompts)
    other = corrupted if base == "corrupted" else clean
    patched = other[:, None, None] + effect + scatter * draws.normal(size=(prompts, 12, 16))
    block = hc.as_block(patched * scale, clean=clean * scale, corrupted=corrupted * scale, base=base, task="a")
    return block.astype(np.float32).assign_attrs(fingerprint="f")


def effects(block):
    difference = (block.patched.astype(float) - block[block.attrs["base"]]).squeeze("metric")
    return difference.mean("prompt").values, difference.std("prompt", ddof=1).values / np.sqrt(block.sizes["prompt"])


@for_each("base,scale", pairwise(["clean", "corrupted"], [1e-30, 1.0, 1e30]))
def test_a_block_comes_back_and_its_loss_is_what_it_says(base, scale):
    block = causal(base=base, scale=scale)
    back = restored(compacted(block))
    assert back.drop_attrs().drop_vars("patched").identical(block.drop_attrs().drop_vars("patched"))
    assert back.patched.dims == block.patched.dims
    assert back.patched.dtype == np.float32
    (before, error), (after, _) = effects(block), effects(back)
    loss = loss_of(back)
    assert loss.store == COMPACT
    assert loss.largest == pytest.approx(np.abs((after - before) / error).max(), rel=0.01)
    assert loss.mean == pytest.approx(np.abs((after - before) / error).mean(), rel=0.01)
    assert 0 < loss.mean < loss.largest < 0.002


def test_a_large_effect_that_hardly_varies_loses_nothing_that_counts():
    assert loss_of(compacted(causal(effect=100.0, scatter=0.01))).largest < 0.01


def test_heads_that_a_layer_lacks_and_heads_without_effect_stay():
    block = causal()
    block.patched[0, :, 3, 4] = np.nan
    block.patched[0, :, 5, 6] = block.corrupted[0]
    back = restored(compacted(block))
    assert np.isnan(back.patched[0, :, 3, 4]).all()
    assert int(np.isnan(back.patched).sum()) == 64
    assert back.patched[0, :, 5, 6].equals(block.patched[0, :, 5, 6].astype(np.float32))


@pytest.mark.parametrize("kind", ["bound", "infinite"])
def test_a_block_that_would_lose_too_much_stays_whole_and_says_so(kind, monkeypatch):
    block = causal()
    if kind == "bound":
        monkeypatch.setattr(compact, "BOUND", 1e-6)
    if kind == "infinite":
        block.patched[0, 2, 3, 4] = np.inf
    kept = compacted(block)
    assert kept.drop_attrs().identical(block.drop_attrs())
    loss = loss_of(kept)
    assert loss.store == WHOLE
    assert loss.largest > loss.bound
    assert "1 would lose more" in losses_text([loss])
    json.loads(kept.attrs[ROUNDED], parse_constant=pytest.fail)


def test_losses_add_up():
    block, first = causal(), compacted(causal())
    said = [loss_of(first).largest]
    for _ in range(5):
        first = compacted(restored(first))
        said.append(loss_of(first).largest)
    assert said == sorted(said)
    assert said[-1] > said[0]
    (before, error), (after, _) = effects(block), effects(restored(first))
    assert np.abs((after - before) / error).max() <= 1.001 * said[-1]


def test_the_error_is_that_of_query_items():
    block = causal(prompts=64)
    differences = (block.patched[0] - block.corrupted[0]).values
    # Prompts of an item that deviate in opposite directions tell more than their own scatter says.
    differences[1::2] = 0.6 - differences[0::2] + 0.001 * differences[1::2]
    block.patched[0] = block.corrupted[0].values[:, None, None] + differences
    pairs = block.assign_coords(item=("prompt", [f"item {place // 2}" for place in range(64)]))
    with_items, alone = (loss_of(compacted(each)).largest for each in (pairs, block))
    assert with_items > 2 * alone


def test_what_patches_nothing_is_left_alone():
    block = xr.Dataset({"score": ("head", [1.0])}, attrs={"method": "m"})
    assert compacted(block) is block
    assert restored(block) is block
    assert loss_of(block) is None


def test_a_folder_gives_compact_blocks_as_any_others_and_the_file_is_half_as_large(tmp_path):
    block = causal(prompts=256)
    sizes = {}
    for store in (WHOLE, COMPACT):
        target = ResultsFolder(tmp_path / store)
        target.write_block("a", LABEL, compacted(block) if store == COMPACT else block)
        target.write_manifest(manifest("a"))
        sizes[store] = target.block_path("a", LABEL).stat().st_size
    read = ResultsFolder(tmp_path / COMPACT).read_block("a", LABEL)
    assert read.patched.equals(restored(compacted(block)).patched)
    assert set(read.data_vars) == set(block.data_vars)
    assert sizes[COMPACT] < 0.6 * sizes[WHOLE]
    whole, small = (hc.load(tmp_path / store)["a"][LABEL] for store in (WHOLE, COMPACT))
    assert np.abs(whole.patched - small.patched).max() < 1e-3


def test_a_compact_block_that_lacks_a_part_is_damaged(tmp_path):
    target = ResultsFolder(tmp_path)
    target.write_block("a", LABEL, compacted(causal()).drop_vars("patched_mean"))
    with pytest.raises(DamagedFileError, match="patched_mean"):
        target.read_block("a", LABEL)
