"""Other labels of tasks, exchanged between sources and within strata."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headcats.statistics.labellings import Labellings, draw_labellings


def draw(labels, sources, *, strata=None, n=200, seed=0) -> Labellings:
    strata = None if strata is None else np.array(strata)
    return draw_labellings(np.array(labels), np.array(sources), strata=strata, n_categories=4, n=n, seed=seed)


@pytest.mark.parametrize(
    ("labels", "sources", "strata", "n"),
    [
        ([0, 0, 0, 1, 1, 1], range(6), None, 10),  # 20 labellings, halved as the two categories can trade names
        ([0, 0, 1, 1, 1], range(5), None, 10),  # which they cannot here
        ([0, 0, 0, 0, 1, 1], [0, 0, 1, 1, 2, 2], None, 3),  # whole sources: which of three stands alone
        ([0, 1, 0, 1, 2, 2], [0, 0, 0, 0, 1, 2], None, 3),  # within the first source, as the others have one label
        ([0, 1, 1, 0, 1, 1], [0, 0, 0, 1, 2, 3], None, 9),  # within the first, and among the others
        ([0, 1, 0, 1, 0, 1], range(6), [0, 0, 0, 0, 1, 1], 6),  # 6 by 2 labellings, halved
        ([0, 0, 1, 0, 1, 1], range(6), [0, 0, 0, 1, 1, 1], 9),  # 3 by 3: the categories differ in their strata
        ([0, 1, 0, 1], [0, 0, 0, 0], [0, 0, 1, 1], 2),  # within a source, too
        ([0, 0, 0, 1, 1], [0, 0, 0, 1, 2], [7, 7, 9, 7, 9], 2),  # a source is in the stratum of most of its tasks
        ([0, 0, 1, 1], range(4), [0, 0, 1, 1], 1),
        ([0, 0, 1], [0, 0, 1], None, 1),  # which divides the tasks as before
        ([0, 0], [0, 1], None, 1),
    ],
)
def test_every_division_is_drawn_once_the_true_one_first(labels, sources, strata, n) -> None:
    drawn = draw(labels, sources, strata=strata)
    np.testing.assert_array_equal(drawn.labels[0], labels)
    assert drawn.possible == len(drawn.labels) == len(divisions(drawn)) == n


def divisions(drawn: Labellings) -> set[tuple[bool, ...]]:
    """Tasks in one category, of every pair of tasks."""
    return {tuple((row[:, None] == row).ravel().tolist()) for row in drawn.labels}


TASKS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 4), st.integers(0, 1)), min_size=1, max_size=9)


@given(TASKS, st.booleans(), st.integers(0, 99))
def test_labels_keep_their_numbers_in_every_source_and_stratum(tasks, stratified, seed) -> None:
    labels, sources, strata = (np.array(column) for column in zip(*tasks, strict=True))
    strata = strata if stratified else np.zeros_like(strata)
    drawn = draw(labels, sources, strata=strata, n=30, seed=seed)
    assert len(drawn.labels) == min(31, drawn.possible) == len(divisions(drawn))
    of_source = {source: np.flatnonzero(sources == source) for source in sources.tolist()}
    mixed = {source for source, members in of_source.items() if len(set(labels[members].tolist())) > 1}

    def numbers(row):
        counts = Counter()
        for source, members in of_source.items():
            if source in mixed:
                counts.update((source, strata[task], row[task]) for task in members)
            else:
                assert len(set(row[members].tolist())) == 1
                counts[None, np.bincount(strata[members]).argmax(), row[members[0]]] += 1
        return counts

    assert all(numbers(row) == numbers(labels) for row in drawn.labels)
    assert len(set(drawn.units.tolist())) == sum(len(of_source[s]) if s in mixed else 1 for s in of_source)


def test_linked_tasks_of_different_sources_are_not_compared() -> None:
    linked = np.zeros((4, 4), dtype=bool)
    linked[[0, 1, 2, 2], [2, 2, 0, 1]] = True
    drawn = draw_labellings(np.array([0, 1, 0, 1]), np.array([0, 0, 1, 1]), linked, n_categories=2, n=10, seed=0)
    assert drawn.units.tolist() == [0, 1, 2, 3]  # both sources have two categories
    assert drawn.comparable.tolist() == [
        [False, True, False, True],
        [True, False, False, True],
        [False, False, False, True],
        [True, True, True, False],
    ]


def test_at_most_as_many_as_asked_for_are_drawn_and_others_with_another_seed() -> None:
    labels, sources = np.repeat([0, 1, 2, 3], 5), np.arange(20)
    first, again, other = (draw(labels, sources, n=30, seed=seed) for seed in (0, 0, 1))
    assert len(first.labels) == 31
    assert first.possible == math.factorial(20) // math.factorial(5) ** 4 // 24
    np.testing.assert_array_equal(first.labels, again.labels)
    assert (first.labels[1:] != other.labels[1:]).any()
