"""Benjamini-Hochberg as scipy computes it, and NaN left out."""

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from headcats.statistics.multiplicity import benjamini_hochberg


@given(st.lists(st.sampled_from([0.0, 0.001, 0.01, 0.02, 0.02, 0.3, 0.9, 1.0]) | st.floats(0, 1), min_size=1))
def test_q_values_are_those_of_scipy(p_values: list[float]) -> None:
    found, expected = benjamini_hochberg(np.array(p_values)), scipy.stats.false_discovery_control(p_values)
    np.testing.assert_array_equal(found, expected)


def test_by_hand_with_missing_values() -> None:
    p_values = np.array([[0.01, np.nan, 0.04], [0.03, 0.5, np.nan]])
    expected = np.array([[0.04, np.nan, 0.16 / 3], [0.16 / 3, 0.5, np.nan]])
    np.testing.assert_allclose(benjamini_hochberg(p_values), expected)


def test_nan_is_no_test() -> None:
    found = benjamini_hochberg(np.array([[0.01, np.nan], [0.04, 0.03]]))
    np.testing.assert_allclose(found, [[0.03, np.nan], [0.04, 0.04]], rtol=1e-15)
    assert np.isnan(benjamini_hochberg(np.full((2, 3), np.nan))).all()


@pytest.mark.parametrize("shape", [(0,), (2, 0)])
def test_no_tests_have_no_q(shape: tuple[int, ...]) -> None:
    assert benjamini_hochberg(np.zeros(shape)).shape == shape
