"""The same plan gives the same bits; other memory limits and paths add in another order, and stay within rounding."""

from collections import Counter

import pytest

import headcats as hc

MOST = {"same bits", "within rounding"}


def states(first, second):
    """State of a block -> how many have it."""
    return Counter(hc.diff(first, second)["state"].values.tolist())


@pytest.fixture(scope="module")
def all_methods():
    return ["denoising_patch", "noising_patch", "mean_ablation", "zero_ablation", "resample_ablation"]


@pytest.fixture(scope="module")
def once(model, options, all_methods):
    """A run in memory."""
    return hc.run(model, **options | {"methods": all_methods})


def test_the_same_run_twice(model, options, all_methods, once):
    again = hc.run(model, **options | {"methods": all_methods})
    assert states(again, once).keys() == {"same bits"}
    assert states(again, once).total() == 15


def test_in_another_order(model, options, all_methods, once):
    """Of methods, and of tasks, of which two are added to a run of one."""
    tasks = ["always_c", "shifted", "always_b", "always_a"]
    again = hc.run(model, **options | {"methods": all_methods[::-1], "tasks": tasks})
    assert states(again, once).keys() == {"same bits"}


def test_a_run_that_was_extended(model, options, all_methods, once, tmp_path):
    for methods in (all_methods[:2], all_methods[2:]):
        hc.run(model, out=tmp_path / "r", **options | {"methods": methods})
    assert states(tmp_path / "r", once).keys() == {"same bits"}


@pytest.mark.parametrize("memory", ["300KB", "1GB"])
def test_with_another_memory_limit(model, options, all_methods, once, memory):
    assert states(hc.run(model, memory=memory, **options | {"methods": all_methods}), once).keys() <= MOST


def test_by_the_hooked_path(model, options, all_methods, once):
    assert states(hc.run(model, path="hooked", **options | {"methods": all_methods}), once).keys() <= MOST
