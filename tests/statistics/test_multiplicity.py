"""Benjamini-Hochberg as scipy computes it, and partial conjunctions: an effect in at least r of n tasks."""

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from headcats.statistics.multiplicity import benjamini_hochberg, partial_conjunction


@given(st.lists(st.sampled_from([0.0, 0.001, 0.01, 0.02, 0.02, 0.3, 0.9, 1.0]) | st.floats(0, 1), min_size=1))
def test_q_values_are_those_of_scipy(p_values: list[float]) -> None:
    found, expected = benjamini_hochberg(np.array(p_values)), scipy.stats.false_discovery_control(p_values)
    np.testing.assert_array_equal(found, expected)


def test_by_hand_with_missing_values() -> None:
    p_values = np.array([[0.01, np.nan, 0.04], [0.03, 0.5, np.nan]])
    expected = np.array([[0.04, np.nan, 0.16 / 3], [0.16 / 3, 0.5, np.nan]])
    np.testing.assert_allclose(benjamini_hochberg(p_values), expected)


@pytest.mark.parametrize("shape", [(0,), (2, 0)])
def test_no_tests_have_no_q(shape: tuple[int, ...]) -> None:
    assert benjamini_hochberg(np.zeros(shape)).shape == shape


def test_by_hand() -> None:
    p = np.array([0.3, 0.001, 0.02, 0.04])
    # r = 2 leaves .02, .04, .3: Simes' 3 * .02 / 1, 3 * .04 / 2, 3 * .3 / 3; Stouffer's sum over the root of 3.
    stouffer = stats.norm.sf(stats.norm.isf([0.02, 0.04, 0.3]).sum() / np.sqrt(3))
    assert partial_conjunction(p, r=2) == pytest.approx(min(stouffer / 0.8, 0.06 / 0.2))
    assert partial_conjunction(p, r=4) == pytest.approx(0.3 / 0.8)
    # One tiny p among large ones is for Simes to find.
    assert partial_conjunction(np.array([1e-9, 0.9, 0.9, 0.9]), r=1) == pytest.approx(4e-9 / 0.2)


def test_missing_counts_as_one_and_cells_are_independent() -> None:
    p = np.array([[0.01, 0.01], [np.nan, 0.02], [0.02, 0.03]])
    both = partial_conjunction(p, r=2)
    assert both[1] == partial_conjunction(p[:, 1], r=2)
    assert both[0] == partial_conjunction(np.array([0.01, 1.0, 0.02]), r=2)


@pytest.mark.parametrize(("r", "correlated"), [(1, 0.5), (3, 0.0), (5, 0.5)])
def test_it_holds_its_level_at_the_edge_of_the_null(r: int, correlated: float) -> None:
    """r - 1 tasks with overwhelming effects and the others with none, their noise correlated."""
    rng = np.random.default_rng(0)
    noise = np.sqrt(correlated) * rng.normal(size=40_000) + np.sqrt(1 - correlated) * rng.normal(size=(5, 40_000))
    noise[: r - 1] += 20.0
    correlation = np.full((5, 5), correlated)
    p = partial_conjunction(stats.norm.sf(noise), r=r, correlation=correlation)
    for level in (0.05, 0.001):
        assert (p <= level).mean() <= level + 3 * np.sqrt(level / 40_000)
    if r == 1 and correlated:
        ignored = partial_conjunction(stats.norm.sf(noise), r=r)
        assert (ignored <= 0.001).mean() > 0.004


def test_effects_in_all_and_in_just_enough_tasks_are_found() -> None:
    rng = np.random.default_rng(1)
    everywhere = stats.norm.sf(rng.normal(2.2, 1, size=(7, 4_000)))
    barely = stats.norm.sf(rng.normal(np.array([6, 6, 6, 6, 0, 0, 0])[:, None], 1, size=(7, 4_000)))
    assert (partial_conjunction(everywhere, r=4) <= 0.01).mean() > 0.7
    assert (partial_conjunction(barely, r=4) <= 0.01).mean() > 0.9
