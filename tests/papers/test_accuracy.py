import math

import numpy as np
import pytest
from scipy.stats import t

from headcats.papers.accuracy import UNKNOWN, accuracy_difference_p, clustered_accuracy, largest_share


def test_without_clusters_it_is_the_wilson_interval_but_for_the_quantile() -> None:
    right = np.array([True] * 70 + [False] * 30)
    found = clustered_accuracy(right, np.arange(100))
    z, n, p = t.ppf(0.975, 99), 100 * 99 / 100, 0.7  # the variance between clusters divides by n - 1
    half = z * math.sqrt(p * (1 - p) / n + z**2 / (4 * n**2)) / (1 + z**2 / n)
    centre = (p + z**2 / (2 * n)) / (1 + z**2 / n)
    assert found == pytest.approx((0.7, centre - half, centre + half))


def test_copies_of_an_item_count_once() -> None:
    right, items = np.array([True] * 14 + [False] * 6), np.arange(20)
    once = clustered_accuracy(right, items)
    again = clustered_accuracy(np.repeat(right, 50), np.repeat(items, 50))
    assert again == pytest.approx(once)


def test_all_right_is_never_certain() -> None:
    found = clustered_accuracy(np.ones(400, dtype=bool), np.repeat(np.arange(4), 100))
    assert found.share == 1
    assert found.high == 1
    assert 0.2 < found.low < 0.5  # four tasks, whatever the number of texts


def test_one_cluster_has_no_interval_and_no_texts_nothing() -> None:
    found = clustered_accuracy(np.array([True, False]), np.array(["a", "a"]))
    assert found.share == 0.5
    assert math.isnan(found.low)
    assert math.isnan(found.high)
    assert clustered_accuracy(np.array([], dtype=bool), np.array([], dtype=str)) is UNKNOWN
    assert math.isnan(largest_share(np.array([])))


def test_the_interval_covers_as_often_as_it_says() -> None:
    draws = np.random.default_rng(0)
    cluster = np.repeat(np.arange(16), 20)
    covered = 0
    for _ in range(600):
        chances = draws.beta(2.4, 1.6, 16)  # tasks differ widely around .6
        found = clustered_accuracy(draws.random(320) < chances[cluster], cluster)
        covered += found.low <= 0.6 <= found.high
    assert covered / 600 > 0.93


def test_chance_is_the_best_constant_guess() -> None:
    assert largest_share(np.array([0, 0, 1, 2])) == 0.5


def differs(first: np.ndarray, second: np.ndarray, cluster: np.ndarray, *, seed: int = 0) -> float:
    return accuracy_difference_p(first, second, cluster, rng=np.random.default_rng(seed))


def test_without_clusters_the_difference_is_the_sign_test() -> None:
    # 9 texts that the first alone has right, 1 that the second alone has: McNemar's exact test.
    first, second = np.array([True] * 9 + [False] + [True] * 20), np.array([False] * 9 + [True] * 21)
    assert differs(first, second, np.arange(30)) == pytest.approx(22 / 1024, abs=0.004)
    assert differs(second, first, np.arange(30)) == pytest.approx(22 / 1024, abs=0.004)


def test_a_difference_within_one_item_is_one_observation() -> None:
    first, second = np.ones(40, dtype=bool), np.repeat([False, True], 20)
    assert differs(first, second, np.repeat([0, 1], 20)) == 1
    assert differs(first, second, np.arange(40)) < 1e-3
    assert differs(first, first, np.arange(40)) == 1
    assert math.isnan(differs(first[:0], first[:0], np.arange(0)))


def test_equally_good_classifiers_differ_in_one_of_twenty_draws() -> None:
    """The null: which of the two is right where one is wrong is a coin flip, the same for all texts of an item."""
    draws, n, p = np.random.default_rng(0), 60, []
    items = np.repeat(np.arange(30), 2)
    for _ in range(150):
        heads = np.repeat(draws.random(30) < 0.5, 2)
        apart = np.repeat(draws.random(30) < 0.6, 2)
        first, second = heads | ~apart, ~heads | ~apart
        assert len(first) == n
        p.append(differs(first, second, items))
    assert np.mean(np.array(p) <= 0.05) <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 150)
    assert np.mean(np.array(p) <= 0.5) == pytest.approx(0.45, abs=0.15)
