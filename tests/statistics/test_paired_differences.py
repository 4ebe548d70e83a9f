"""Differences between two runs on the same items: hand-computed, calibrated, and powerful where noise is shared."""

import numpy as np
import pytest
from simulated import clustered_noise

from headcats.statistics.multiplicity import benjamini_hochberg
from headcats.statistics.paired_differences import paired_differences
from headcats.statistics.task import Estimate, PromptEffects, estimate

ITEMS, HEADS = 16, 40


def estimated(effects: np.ndarray, *, gaps: np.ndarray | None = None, name: str = "") -> Estimate:
    """From one prompt per item; items are named alike unless `name` says otherwise."""
    n = len(effects)
    gaps = np.ones(n) if gaps is None else gaps
    items = np.array([f"{name}{number}" for number in range(n)])
    return estimate(PromptEffects(effects * gaps[:, None], gaps, items), task="t", seed=0)


def two_runs(rng: np.random.Generator, *, shared: float, change: float = 0.0) -> list[tuple[Estimate, Estimate]]:
    """Three tasks, two of them on the same items; the first four heads change, and each run has a scale of its own."""
    scales, pairs = rng.uniform(0.5, 2, 2), []
    for task in range(3):
        items, true = np.arange(ITEMS), rng.normal(0, 0.2, HEADS)
        common = clustered_noise(rng, items=items, heads=HEADS)
        gaps = rng.lognormal(0, 0.3, ITEMS)
        runs = []
        for place, scale in enumerate(scales):
            own = clustered_noise(rng, items=items, heads=HEADS)
            effects = true + 0.5 * (np.sqrt(shared) * common + np.sqrt(1 - shared) * own)
            effects[:, :4] += change * place
            runs.append(estimated(effects, gaps=gaps * scale, name="" if task else "other "))
        pairs.append((runs[0], runs[1]))
    return pairs


def test_the_difference_is_the_mean_over_tasks_of_the_differences() -> None:
    """Two tasks of the same two items: effects .1 and .3, then .2 and .8."""
    first = [estimated(np.array([[0.0], [0.2]])), estimated(np.array([[0.3], [0.3]]))]
    second = [estimated(np.array([[0.1], [0.3]])), estimated(np.array([[0.8], [0.8]]))]
    tested = paired_differences({"a": list(zip(first, second, strict=True))}, seed=0)["a"]
    assert tested.difference == pytest.approx([0.3])
    # What the items deviate is the same in both runs, so nothing of it is left.
    assert tested.high - tested.low == pytest.approx([0.0], abs=1e-3)


def test_the_same_run_twice_does_not_differ() -> None:
    rng = np.random.default_rng(0)
    pairs = [(first, first) for first, _ in two_runs(rng, shared=0.5)]
    tested = paired_differences({"a": pairs}, seed=0)["a"]
    assert (tested.difference == 0).all()
    assert (tested.p_value == 1).all()
    rounded = tuple(estimated(np.full((ITEMS, 3), effect)) for effect in (0.3, 0.3 + 1e-7))
    assert (paired_differences({"a": [rounded]}, seed=0)["a"].p_value > 0.9).all()


def test_without_a_difference_few_are_called() -> None:
    p_values, covered, calls = [], [], []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        tested = paired_differences({name: two_runs(rng, shared=0.5) for name in ("a 1", "a 2", "b 1")}, seed=seed)
        p_values.append([each.p_value for each in tested.values()])
        covered.append([(each.low <= 0) & (each.high >= 0) for each in tested.values()])
        calls.append((benjamini_hochberg(np.stack(p_values[-1])) <= 0.05).any())
    # 12 worlds of 120 tests, those of a world on the same items; the share is .05 on average.
    assert 0.03 < (np.array(p_values) <= 0.05).mean() < 0.075
    assert 0.925 < np.mean(covered) < 0.97
    assert np.sum(calls) <= 3  # 0.6 on average


def test_a_difference_is_found_and_more_often_where_noise_is_shared() -> None:
    found = {}
    for shared in (0.0, 0.9):
        rng = np.random.default_rng(1)
        tested = paired_differences({"a": two_runs(rng, shared=shared, change=0.5)}, seed=0)["a"]
        found[shared] = tested
        assert (benjamini_hochberg(tested.p_value)[:4] <= 0.05).all()
        assert ((tested.low < 0.5) & (tested.high > 0.5))[:4].all()
    width = {shared: np.median(tested.high - tested.low) for shared, tested in found.items()}
    assert width[0.9] < 0.5 * width[0.0]


def test_heads_without_a_number_stay_without_and_a_single_item_shows_nothing() -> None:
    effects = np.array([[0.1, np.nan], [0.2, 0.1]])
    tested = paired_differences({"a": [(estimated(effects), estimated(effects + 1))]}, seed=0)["a"]
    assert np.isnan(tested.difference).tolist() == [False, True]
    assert np.isnan(tested.p_value).tolist() == [False, True]
    alone = paired_differences({"a": [(estimated(effects[1:]), estimated(effects[1:] + 1))]}, seed=0)["a"]
    assert alone.p_value.tolist() == [1, 1]
