"""Heads of a category: the most specific ones, never chosen on the task or on its words."""

import numpy as np
import pytest
from damages import labellings

from headcats.evidence.chosen_heads import (
    TESTED_HEADS,
    chosen_sets,
    damage_by_labelling,
    most_specific,
    specific_effects,
)
from headcats.evidence.relabelling import mean_over, minus_other_categories
from headcats.models.head import Head
from headcats.statistics.labellings import draw_labellings

LAYERS = np.repeat(np.arange(3), 4)
HEADS = [Head(layer, head) for layer in range(3) for head in range(4)]


def test_specific_effects_by_hand():
    effects = np.array([[1.0, 0.0], [3.0, 0.0], [0.0, 4.0], [0.5, 0.0]])
    drawn = labellings(2, 1, 1, n=1)
    np.testing.assert_allclose(specific_effects(effects, drawn.members)[0], [[1.75, -2.0], [-1.25, 4.0], [-0.5, -2.0]])


def test_heads_that_differ_by_rounding_alone_are_ties():
    drawn = labellings(2, 2)
    effects = np.zeros((4, 12))
    effects[:, 0] = 1.0
    rounded = effects + np.random.default_rng(0).normal(scale=1e-9, size=effects.shape)
    for values in (effects, rounded):
        assert not specific_effects(values, drawn.members).any()
    effects[0, 3] = 1e-4  # far above rounding
    assert (
        specific_effects(effects, drawn.members)[0, 0].argmax(),
        specific_effects(effects, drawn.members).any(),
    ) == (3, True)


def test_a_category_without_tasks_is_neither_here_nor_among_the_others():
    np.testing.assert_array_equal(minus_other_categories(np.array([[1.0], [np.nan], [4.0]])), [[-3.0], [np.nan], [3.0]])
    assert np.isnan(minus_other_categories(np.array([[1.0], [np.nan]]))).all()


def test_the_largest_four_but_at_most_half_of_a_layer():
    values = np.zeros(12)
    values[[0, 1, 2, 3, 5, 9]] = [9, 8, 7, 6, 5, 4]
    assert most_specific(values, LAYERS, category=values).tolist() == [0, 1, 5, 9]
    assert TESTED_HEADS == 4
    few, none = np.array([3.0, 2.0, 1.0]), np.full(12, np.nan)
    assert most_specific(few, np.array([0, 0, 1]), category=few).tolist() == [0, 2, -1, -1]
    assert most_specific(none, LAYERS, category=none).tolist() == [-1] * 4


def test_of_equally_specific_heads_those_that_matter_most():
    own = np.zeros(12)
    own[[6, 11, 3]] = [1, 3, 2]
    assert most_specific(np.zeros(12), LAYERS, category=own).tolist() == [11, 3, 6, 0]


def test_heads_are_chosen_without_the_task():
    effects = np.zeros((4, 12))
    effects[:2, 0] = effects[2:, 4] = 1.0
    effects[0, 8] = 9.0  # matters for the first task alone
    drawn = labellings(2, 2)
    chosen = [
        {name: sets[which[0, place]] for place, name in enumerate("AB")}
        for sets, which in chosen_sets(effects, drawn, HEADS)
    ]
    assert Head(0, 0) in chosen[0]["A"]
    assert chosen[0]["A"][0] == Head(0, 0)
    assert Head(2, 0) not in chosen[0]["A"]
    assert Head(2, 0) in chosen[1]["A"]
    assert all(Head(1, 0) in by_category["B"] for by_category in chosen)


def test_nor_on_tasks_of_its_category_that_share_its_words():
    effects = np.zeros((5, 12))
    effects[:2, 8] = 9.0  # two tasks of A with the same words
    effects[2, 0] = 1.0
    labels, blocks = np.array([0, 0, 0, 1, 1]), np.array([0, 0, 1, 2, 3])
    drawn = draw_labellings(labels, blocks, n_categories=2, n=10, seed=0)
    chosen = chosen_sets(effects, drawn, HEADS)
    for task in (0, 1):
        sets, which = chosen[task]
        assert Head(2, 0) not in sets[which[0, 0]]
    sets, which = chosen[2]
    assert Head(2, 0) in sets[which[0, 0]]


def test_every_labelling_finds_its_own_set():
    draws = np.random.default_rng(0)
    effects, drawn = draws.normal(size=(6, 12)), labellings(3, 3)
    for task, (sets, which) in enumerate(chosen_sets(effects, drawn, HEADS)):
        assert which.shape == (10, 2)
        assert len(sets) == len(set(sets)) == len(set(which.ravel().tolist()))
        for row in range(10):
            others = np.arange(6) != task
            data = (effects[others], drawn.members[row : row + 1, others])
            own = mean_over(effects[None, others], data[1])[0]
            best = most_specific(specific_effects(*data)[0], LAYERS, category=own)
            for category in range(2):
                expected = sorted(HEADS[place] for place in best[category])
                assert list(sets[which[row, category]]) == expected


def test_a_category_of_one_task_has_no_heads_on_it():
    sets, which = chosen_sets(np.ones((3, 12)), labellings(1, 2), HEADS)[0]
    assert sets[which[0, 0]] == ()
    damage = damage_by_labelling(np.array([0.5] * len(sets)), sets, which)
    assert np.isnan(damage[0, 0])
    with pytest.raises(IndexError):
        damage_by_labelling(np.array([0.5]), sets[:1], which + 5)
