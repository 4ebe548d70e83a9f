"""Rewordings are found by the effects of heads; tasks that merely are of one category are not joined."""

import numpy as np
import pytest

from headcats.evidence.likeness import alike_sources

LABELS = np.repeat(np.arange(4), 6)
APART = np.arange(24)


def profiles(seed=0, *, noise=0.03):
    """Every task has heads of its own, beside six that serve all."""
    draws = np.random.default_rng(seed)
    effects = draws.normal(0, 0.2, (24, 48)) * (draws.random((24, 48)) < 0.25)
    effects[:, :6] += draws.uniform(0.1, 0.3, 6)
    return effects, lambda: tuple(effects + draws.normal(0, noise, effects.shape) for _ in range(2))


def joined(halves, *, sources=APART, apart=()):
    """Groups of places that are one source."""
    numbers = alike_sources(halves, LABELS, sources, apart=[place in apart for place in range(24)])
    groups = (np.flatnonzero(numbers == number).tolist() for number in np.unique(numbers))
    return [group for group in groups if len(group) > 1]


@pytest.mark.parametrize("seed", range(3))
def test_planted_rewordings_are_joined_and_nothing_else(seed):
    effects, halves = profiles(seed)
    assert joined(halves()) == []
    effects[[3, 5]] = effects[0] * [[1.0], [4.0]]  # one breaks more easily
    effects[[7, 14]] = effects[8]  # of which one is of another category
    assert joined(halves()) == [[0, 3, 5], [7, 8]]


@pytest.mark.parametrize("noise", [0.0, 0.03])
def test_heads_of_a_category_make_its_tasks_no_single_source(noise):
    effects, halves = profiles(noise=noise)
    effects[LABELS == 1, 10:13] += 0.3
    assert joined(halves()) == []


def test_a_category_whose_tasks_nothing_tells_apart_is_one_source():
    effects, halves = profiles()
    effects[LABELS == 2] = effects[12]
    assert joined(halves()) == [list(range(12, 18))]


def test_named_groups_and_sources_of_several_categories_stay_as_they_are():
    effects, halves = profiles()
    effects[:9] = effects[0]
    sources = np.where(np.isin(APART, [5, 8]), 5, APART)  # a task of each of two categories
    made = halves()
    assert joined(made, sources=sources) == [[0, 1, 2, 3, 4], [5, 8], [6, 7]]
    assert joined(made, sources=sources, apart=[0, 1]) == [[2, 3, 4], [5, 8], [6, 7]]
    assert joined(made, sources=np.where(APART == 1, 0, APART), apart=[0]) == [[0, 1], [2, 3, 4, 5], [6, 7, 8]]


def test_the_order_of_tasks_and_sources_of_several_tasks_do_not_matter():
    effects, halves = profiles()
    effects[:3] = effects[0]
    made, sources = halves(), np.where(APART == 4, 3, APART)
    order = np.random.default_rng(1).permutation(24)
    found = alike_sources(made, LABELS, sources, apart=[False] * 24)
    shuffled = alike_sources(tuple(half[order] for half in made), LABELS[order], sources[order], apart=[False] * 24)
    np.testing.assert_array_equal(shuffled, found[order])
    assert found.tolist() == [0, 0, 0, 3, 3, *range(5, 24)]
