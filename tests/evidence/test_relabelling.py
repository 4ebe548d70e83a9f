"""Labellings: which are drawn, how many there are, and what a family-wise p is."""

import math

import numpy as np
import pytest
from damages import labellings
from hypothesis import given
from hypothesis import strategies as st

from headcats.evidence.relabelling import family_wise_p, maxima, mean_over
from headcats.statistics.labellings import draw_labellings


def divisions(labels):
    rows = map(np.array, labels.tolist())
    return {tuple(sorted(tuple(np.flatnonzero(row == label).tolist()) for label in set(row.tolist()))) for row in rows}


def draw(labels, blocks, n=1000, seed=0):
    labels, blocks = np.array(labels), np.array(blocks)
    return draw_labellings(labels, blocks, n_categories=int(labels.max()) + 1, n=n, seed=seed)


def test_linked_tasks_of_different_blocks_are_not_compared():
    linked = np.zeros((4, 4), dtype=bool)
    linked[[0, 1, 2, 2], [2, 2, 0, 1]] = True
    drawn = draw_labellings(np.array([0, 1, 0, 1]), np.array([0, 0, 1, 1]), linked, n_categories=2, n=10, seed=0)
    assert drawn.units.tolist() == [0, 1, 2, 3]  # both blocks have two categories
    assert drawn.comparable.tolist() == [
        [False, True, False, True],
        [True, False, False, True],
        [False, False, False, True],
        [True, True, True, False],
    ]


def test_without_shared_words_every_division_can_be_drawn_once():
    drawn = labellings(3, 3)
    # 6 choose 3 labellings, and each division under both names.
    assert drawn.possible == len(drawn.labels) == math.comb(6, 3) // 2
    assert drawn.labels[0].tolist() == [0, 0, 0, 1, 1, 1]
    assert len(divisions(drawn.labels)) == 10
    assert labellings(2, 3).possible == 10
    assert labellings(5, 5, 5, 5).possible == math.factorial(20) // math.factorial(5) ** 4 // 24


def test_a_block_of_one_category_keeps_its_labels_together():
    drawn = draw([0, 0, 0, 1, 1], [0, 0, 1, 2, 3])
    assert drawn.possible == 3  # two of four blocks, under both names
    assert (drawn.labels[:, 0] == drawn.labels[:, 1]).all()
    assert drawn.units.tolist() == [0, 0, 1, 2, 3]
    assert drawn.unit_labels.shape == (3, 4)


def test_a_block_of_several_categories_exchanges_labels_inside_alone():
    drawn = draw([0, 1, 1, 0, 1, 1], [0, 0, 0, 1, 2, 3])
    assert drawn.possible == 3 * 3
    assert (np.sort(drawn.labels[:, :3], axis=1) == [0, 1, 1]).all()
    assert (drawn.labels[:, 3:].sum(axis=1) == 2).all()
    assert len(set(drawn.units.tolist())) == 6  # each of its tasks is a unit


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 4)), min_size=1, max_size=9), st.integers(0, 99))
def test_every_labelling_has_the_same_numbers_and_none_comes_twice(tasks, seed):
    labels, blocks = (np.array(column) for column in zip(*tasks, strict=True))
    blocks = np.unique(blocks, return_inverse=True)[1]
    drawn = draw(labels, blocks, n=30, seed=seed)
    assert len(drawn.labels) == min(31, drawn.possible) == len(divisions(drawn.labels))
    counts = drawn.unit_members.sum(axis=1)
    assert (counts == counts[0]).all()


def test_the_same_again_and_another_with_another_seed():
    tasks = [0, 0, 0, 1, 1, 1, 2, 2, 2], range(9)
    assert (draw(*tasks, n=20).labels == draw(*tasks, n=20).labels).all()
    assert (draw(*tasks, n=20).labels[1:] != draw(*tasks, n=20, seed=1).labels[1:]).any()


@pytest.mark.parametrize(
    ("labels", "blocks"), [([0], [0]), ([0, 0, 0], [0, 1, 2]), ([0, 1], [0, 1]), ([0, 0, 1], [0, 0, 1])]
)
def test_tasks_that_can_be_divided_in_one_way(labels, blocks):
    assert draw(labels, blocks).possible == len(draw(labels, blocks).labels) == 1


def test_family_wise_p_by_hand():
    statistic = np.array([[3.0, 1.0], [2.0, 0.0], [1.0, np.nan], [np.nan, np.nan]])
    np.testing.assert_array_equal(maxima(statistic), [3.0, 2.0, 1.0, np.nan])
    np.testing.assert_allclose(family_wise_p(statistic), [[0.25, 0.75], [0.5, 0.75], [0.75, np.nan], [np.nan, np.nan]])


def test_a_statistic_that_is_rounded_differently_is_a_tie():
    assert family_wise_p(np.array([[0.1 + 0.2], [0.3]])).tolist() == [[1.0], [1.0]]


def test_every_labelling_would_be_called_equally_often():
    """Exact: over all labellings as the observed one, p <= a holds for at most a share of a."""
    p = family_wise_p(np.random.default_rng(0).normal(size=(200, 4))).min(axis=1)
    assert [(p <= level).mean() for level in (0.05, 0.1, 0.5)] == [0.05, 0.1, 0.5]


def test_means_over_groups_leave_out_nan():
    values = np.array([[1.0, np.nan], [3.0, np.nan], [5.0, 7.0]])
    groups = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    np.testing.assert_array_equal(mean_over(values, groups), [[2.0, np.nan], [5.0, 7.0]])
