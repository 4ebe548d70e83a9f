"""Shared heads: bounds from undecided memberships."""

import itertools

import numpy as np
import pytest

from headcats.categories.shared import count_bounds, jaccard_bounds
from headcats.statistics.agreement import jaccards


def settled(outcome: np.ndarray) -> np.ndarray:
    """Memberships of every way to settle the zeros, `(way, category, head)`."""
    zeros = np.argwhere(outcome == 0)
    ways = []
    for choice in itertools.product((False, True), repeat=len(zeros)):
        inside = outcome == 1
        inside[tuple(zeros.T)] = choice
        ways.append(inside)
    return np.array(ways)


@pytest.mark.parametrize("seed", range(2))
def test_they_are_the_extremes_over_every_way_to_settle_them(seed: int) -> None:
    outcome = np.random.default_rng(seed).choice([-1, 0, 1], size=(3, 4), p=[0.35, 0.45, 0.2])
    ways = settled(outcome)
    counts = np.stack([(ways.sum(axis=1) == k).sum(axis=1) for k in (1, 2, 3)], axis=1)
    least, most = count_bounds(outcome == 1, outcome == 0)
    np.testing.assert_array_equal(least, counts.min(axis=0))
    np.testing.assert_array_equal(most, counts.max(axis=0))
    # Two empty categories have no index.
    indices = jaccards(ways)
    smallest, largest = jaccard_bounds(outcome == 1, outcome == 0)
    known = np.isfinite(indices).any(axis=0)
    assert (np.isnan(smallest) == ~known).all()
    np.testing.assert_allclose(smallest[known], np.where(np.isnan(indices), 2, indices).min(axis=0)[known])
    np.testing.assert_allclose(largest[known], np.where(np.isnan(indices), -1, indices).max(axis=0)[known])


def test_without_undecided_heads_they_are_the_numbers_themselves() -> None:
    inside = np.random.default_rng(0).random((4, 30)) < 0.4
    none = np.zeros_like(inside)
    counts = [(inside.sum(axis=0) == k).sum() for k in range(1, 5)]
    assert [bound.tolist() for bound in count_bounds(inside, none)] == [counts, counts]
    for bound in jaccard_bounds(inside, none):
        np.testing.assert_allclose(bound, jaccards(inside))
