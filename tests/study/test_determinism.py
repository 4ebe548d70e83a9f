"""The same plan gives the same bits; other memory limits and paths add in another order, and stay within rounding."""

from collections import Counter

import pytest

import headcats as hc

MOST = {"same bits", "within rounding"}
ALL = ["denoising_patch", "noising_patch", "mean_ablation", "zero_ablation", "resample_ablation"]
SMALL = {"methods": ["denoising_patch", "resample_ablation"], "tasks": ["always_b"]}


def states(first, second):
    """State of a block -> how many have it."""
    return Counter(hc.diff(first, second)["state"].values.tolist())


@pytest.mark.slow
def test_other_memory_limits_and_paths_stay_within_rounding(model, options):
    once = hc.run(model, **options | SMALL)
    for change in ({"memory": "300KB"}, {"path": "hooked"}):
        assert states(hc.run(model, **change, **options | SMALL), once).keys() <= MOST


@pytest.mark.slow
def test_of_all_methods_too(model, options):
    once = hc.run(model, **options | {"methods": ALL})
    assert states(hc.run(model, **options | {"methods": ALL}), once) == {"same bits": 15}
    turned = {"methods": ALL[::-1], "tasks": ["always_c", "shifted", "always_b", "always_a"]}
    assert states(hc.run(model, **options | turned), once) == {"same bits": 15}
    for change in ({"memory": "300KB"}, {"memory": "1GB"}, {"path": "hooked"}):
        assert states(hc.run(model, **change, **options | {"methods": ALL}), once).keys() <= MOST
