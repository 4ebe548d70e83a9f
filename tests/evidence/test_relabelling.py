"""P values among relabelled tasks."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from headcats.evidence.relabelling import conditional_p, family_wise_p, maxima, mean_over, standardized

# Few values, so that there are ties, and cells without a number.
STATISTICS = arrays(
    float, st.tuples(st.integers(1, 12), st.integers(1, 3)), elements=st.sampled_from([0, 0.3, 2, np.nan])
)


@given(STATISTICS)
def test_family_wise_p_counts_the_labellings_with_a_statistic_as_large(statistic):
    # Tasks in another order round differently.
    statistic = statistic + 1e-12 * np.arange(len(statistic))[::-1, None]
    for value, p in zip(statistic.ravel(), family_wise_p(statistic).ravel(), strict=True):
        as_large = sum(any(other >= value - 1e-9 for other in row) for row in statistic)
        np.testing.assert_equal(p, np.nan if np.isnan(value) else as_large / len(statistic))


def test_the_largest_statistics_by_hand():
    statistic = np.array([[3.0, 1.0], [2.0, 0.0], [1.0, np.nan], [np.nan, np.nan]])
    np.testing.assert_array_equal(maxima(statistic), [3.0, 2.0, 1.0, np.nan])
    np.testing.assert_allclose(family_wise_p(statistic), [[0.25, 0.75], [0.5, 0.75], [0.75, np.nan], [np.nan, np.nan]])


def test_every_labelling_would_be_called_equally_often():
    """Exact: over all labellings as the observed one, p <= a holds for at most a share of a."""
    p = family_wise_p(np.random.default_rng(0).normal(size=(200, 4))).min(axis=1)
    assert [(p <= level).mean() for level in (0.05, 0.1, 0.5)] == [0.05, 0.1, 0.5]


def test_among_labellings_that_are_alike_only_these_count():
    statistic = np.array([[4.0], [3.0], [2.0], [1.0], [5.0]])
    alike = [np.array([True, False, True, False, False]), np.array([False, True, False, False, True])]
    assert conditional_p(statistic, []).ravel().tolist() == [0.4, 0.6, 0.8, 1.0, 0.2]
    assert conditional_p(statistic, alike).ravel().tolist() == [0.5, 1.0, 1.0, 1.0, 0.5]


def test_statistics_of_unlike_categories_are_brought_to_one_scale():
    same = 0.1 + 0.2  # which is rounded
    values = np.array([[1.0, 100.0, same, np.nan], [3.0, 300.0, 0.3, np.nan], [np.nan, 200.0, 0.3, np.nan]])
    root = np.sqrt(1.5)
    expected = [[-1.0, -root, np.nan, np.nan], [1.0, root, np.nan, np.nan], [np.nan, 0.0, np.nan, np.nan]]
    np.testing.assert_allclose(standardized(values), expected)


def test_means_over_groups_leave_out_nan():
    values = np.array([[1.0, np.nan], [3.0, np.nan], [5.0, 7.0]])
    groups = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    np.testing.assert_array_equal(mean_over(values, groups), [[2.0, np.nan], [5.0, 7.0]])
