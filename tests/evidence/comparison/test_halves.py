"""Stability over halves of the prompts, on results whose truth is known."""

import numpy as np
import pytest
import xarray as xr
from simulated import NAMES, block, null_results, tree

import headcats as hc
from headcats.base.errors import DataError, OptionError, UnknownNameError
from headcats.scores.blocks import first_half

pytestmark = pytest.mark.filterwarnings("ignore::headcats.base.errors.StatisticsWarning")


def judge(results: xr.DataTree) -> xr.Dataset:
    # Reducing the draws would take most of the time, and nothing here is read from them.
    scores = hc.score(results, method="denoising_patch").drop_vars(["resampled", "null_effect_t"])
    return hc.categorize(scores)


def planted(*, n: int = 64, items: int = 32) -> xr.DataTree:
    """Head L0H0 serves the tasks of Algorithmic, L1H1 those of Knowledge; the other categories are never scored."""
    rng = np.random.default_rng(0)
    blocks = {}
    for task, place in (("t0", (0, 0)), ("t1", (0, 0)), ("t2", (1, 1)), ("t3", (1, 1))):
        differences = 0.05 * rng.standard_normal((n, 2, 6))
        differences[:, place[0], place[1]] += 0.4
        blocks[task] = block(differences, items=np.arange(n) % items)
    return tree(blocks, categories=dict(zip(blocks, [NAMES[0], NAMES[0], NAMES[1], NAMES[1]], strict=True)))


def test_a_strong_head_is_found_in_both_halves_and_categories_without_tasks_are_nan():
    found = hc.evidence.half_agreement(planted(), judge, splits=2)
    assert found["category"].values.tolist() == NAMES
    strong = found.sel(category=NAMES[:2])
    assert (strong["jaccard"] == 1).all()
    assert (strong["size"] == 1).all()
    np.testing.assert_allclose(strong["expected"], 1 / 12)
    assert (found["reason"] == "").all()
    nothing = found.sel(category=NAMES[2:])
    assert nothing[["jaccard", "spearman", "expected"]].isnull().all().to_array().all()
    assert (nothing["size"] == 0).all()


def test_halves_share_no_item_and_hold_all():
    results, seen = planted(), []
    members = judge(results)

    def look(half: xr.DataTree) -> xr.Dataset:
        seen.append({str(item) for item in half["t0"]["denoising_patch@last"]["item"].values})
        return members

    hc.evidence.half_agreement(results, look, splits=2, seed=7)
    assert len(seen) == 4
    for first, second in (seen[:2], seen[2:]):
        assert not first & second
        assert first | second == {f"item {i}" for i in range(32)}
    assert seen[0] != seen[2], "splits differ"
    assert seen[0] == {item for item in seen[0] | seen[1] if first_half(item, seed=7)}


def test_noise_gives_no_agreement_over_heads():
    results = null_results(np.random.default_rng(1), tasks=4, shape=(6, 8), prompts=64, n_items=32)
    found = hc.evidence.half_agreement(results, judge, splits=1)
    assert (found["size"] == 0).all()
    assert found["jaccard"].isnull().all(), "empty halves"
    assert (abs(found["spearman"]) < 0.5).all()


def test_suppressing_heads_are_judged_as_such():
    results = planted()
    for task in results.children:
        node = results[task]["denoising_patch@last"]
        node["patched"] = 2 * node["corrupted"] - node["patched"]
    found = hc.evidence.half_agreement(results, judge, splits=1, sign="suppressing")
    assert found["jaccard"].values[0, :2].tolist() == [1, 1]
    assert (hc.evidence.half_agreement(results, judge, splits=1)["size"] == 0).all()


def test_too_few_items_are_a_reason_and_no_exception():
    found = hc.evidence.half_agreement(planted(n=8, items=4), judge, splits=2)
    assert found["reason"].dtype.kind in "UT"
    assert all("smallest reachable p" in reason or "No" in reason for reason in found["reason"].values)
    assert found["jaccard"].isnull().all()


def test_other_errors_are_not_swallowed():
    with pytest.raises(UnknownNameError, match="denoising"):
        hc.evidence.half_agreement(planted(), lambda half: hc.score(half, method="denoising"))
    with pytest.raises(OptionError, match="at least 1; got 0"):
        hc.evidence.half_agreement(planted(), judge, splits=0)


def test_a_split_that_fails_leaves_the_others():
    calls = []

    def sometimes(half: xr.DataTree) -> xr.Dataset:
        calls.append(half)
        if len(calls) == 1:
            raise DataError("too little")
        return judge(half)

    found = hc.evidence.half_agreement(planted(), sometimes, splits=2)
    assert found["reason"].values.tolist() == ["too little", ""]
    np.testing.assert_array_equal(found["jaccard"].sel(category=NAMES[0]), [np.nan, 1])
