"""Signature: alike effects within categories, without what all tasks share; damage in units of a task's own; limits."""

import numpy as np
import pytest
from damages import labellings
from scipy import stats

from headcats.evidence.labelling_statistics import (
    ablation_statistic,
    between_units,
    contrast,
    is_damaged,
    relative_damage,
    similarity,
    specificity_limits,
)
from headcats.evidence.relabelling import family_wise_p
from headcats.statistics.labellings import Labellings, draw_labellings


def planted(own: float, *, fragility=(1.0, 1.0, 1.0, 1.0), noise: float = 0.04, seed: int = 0):
    """Effects on both halves: six heads serve all tasks, three more each category."""
    draws = np.random.default_rng(seed)
    true = np.repeat(np.arange(4), 5)
    effects = np.zeros((20, 48))
    effects[:, :6] = draws.uniform(0.1, 0.3, 6)
    for category in range(4):
        effects[np.ix_(true == category, range(10 + 3 * category, 13 + 3 * category))] = own
    effects *= np.array(fragility)[true][:, None]
    return [effects + draws.normal(0, noise, effects.shape) for _ in range(2)]


def p_values(halves):
    drawn = labellings(5, 5, 5, 5)
    return family_wise_p(contrast(similarity(*halves), drawn)[1])[0]


def test_own_heads_are_seen_beside_generic_ones():
    assert (p_values(planted(0.1)) <= 0.05).all()
    assert not (p_values(planted(0.0)) <= 0.05).any()


def test_fragile_tasks_are_not_alike_for_being_fragile():
    """Cosines of whole rows call the most fragile category in each of these studies."""
    called = [(p_values(planted(0.0, fragility=(0.25, 0.5, 1, 2), seed=seed)) <= 0.05).any() for seed in range(12)]
    assert sum(called) <= 2


def test_similarity_is_symmetric_and_knows_no_units():
    first, second = planted(0.1)
    found = similarity(first, second)
    np.testing.assert_allclose(found, found.T)
    np.testing.assert_allclose(found, similarity(second, first))
    np.testing.assert_allclose(found, similarity(first * 7, second * np.linspace(1, 9, 20)[:, None]))
    assert (abs(found) <= 1 + 1e-12).all()


def test_a_row_of_zeros_is_like_nothing():
    first, second = planted(0.1)
    first[3] = second[3] = 0
    assert (similarity(first, second)[3] == 0).all()
    assert (similarity(first * 0, second * 0) == 0).all()


def test_contrast_by_hand():
    """Two units of A, three of B."""
    cosines = np.zeros((5, 5))
    cosines[0, 1] = cosines[1, 0] = 0.9
    cosines[2:, 2:] = 0.3
    cosines[0, 4] = cosines[4, 0] = 0.6
    np.fill_diagonal(cosines, 1.0)  # takes no part
    drawn = labellings(2, 3)
    difference, statistic = contrast(between_units(cosines, drawn), drawn)
    np.testing.assert_allclose(difference[0], [0.9 - 0.1, 0.3 - 0.1])
    np.testing.assert_allclose(statistic[0], difference[0] / np.sqrt([1 + 1 / 6, 1 / 3 + 1 / 6]))


def test_a_source_of_one_category_is_one_unit():
    labels, sources = np.array([0, 0, 0, 1, 1]), np.array([0, 0, 1, 2, 3])
    drawn = draw_labellings(labels, sources, n_categories=2, n=100, seed=0)
    cosines = np.arange(25.0).reshape(5, 5) / 25
    between = between_units(cosines + cosines.T, drawn)
    assert between.shape == (4, 4)
    assert between[0, 1] == pytest.approx(np.mean([cosines[0, 2] + cosines[2, 0], cosines[1, 2] + cosines[2, 1]]))
    assert np.isnan(np.diagonal(between)).all()


def test_a_category_of_one_unit_has_no_pair():
    difference, statistic = contrast(between_units(np.ones((4, 4)), labellings(1, 3)), labellings(1, 3))
    assert np.isnan(difference[0, 0])
    assert np.isnan(statistic[0, 0])
    assert statistic[0, 1] == 0
    assert np.isnan(contrast(between_units(np.ones((3, 3)), labellings(3)), labellings(3))[1]).all()


def test_the_statistic_by_hand():
    """Root mean squares of the tasks are .5, .5 and 1."""
    values = np.array([[[0.7, 0.1], [0.5, 0.5], [1.0, 1.0]]])
    drawn = labellings(2, 1, n=0)
    np.testing.assert_allclose(relative_damage(values)[0], [[1.4, 0.2], [1.0, 1.0], [1.0, 1.0]])
    np.testing.assert_allclose(ablation_statistic(values, drawn)[0], [(1.2 - 1.0) * np.sqrt(2), 1.0 - 0.6])


def test_a_category_whose_tasks_break_easily_gains_nothing():
    drawn = labellings(4, 4, 4)
    generic = np.random.default_rng(0).uniform(0.1, 0.3, (len(drawn.labels), 1, 3)) * np.ones((1, 12, 1))
    fragile = generic * np.where(drawn.labels[0] == 2, 8.0, 1.0)[:, None]
    np.testing.assert_allclose(ablation_statistic(fragile, drawn), ablation_statistic(generic, drawn), atol=1e-12)


def test_tasks_that_nothing_damages_are_known():
    values = np.zeros((3, 4, 2))
    values[1, 0, 1], values[:, 1], values[2, 2, 0] = 0.05, np.nan, 0.049
    assert is_damaged(values).tolist() == [True, False, False, False]
    assert np.isnan(relative_damage(values)[:, 1]).all()
    assert (relative_damage(values)[:, 3] == 0).all()


# ---------------------------------------------------------------------------------------- limits of the specificity
def test_limits_by_hand():
    """Variances of own damage are .04 and .01, pooled over 4 degrees of freedom .025."""
    damage = np.array([[0.5, 0.1], [0.7, 0.1], [0.9, 0.1], [0.1, 0.4], [0.2, 0.5], [0.3, 0.6]])
    estimate, (low, high) = specificity_limits(damage[None], labellings(3, 3, n=0))
    np.testing.assert_allclose(estimate, [[0.7 - 0.2, 0.5 - 0.1]])
    reach = stats.t.ppf(0.95, 4) * np.sqrt([[0.04 / 3 + 0.01 / 3, 0.01 / 3]])
    np.testing.assert_allclose([low, high], [estimate - reach, estimate + reach])
    damage[3:, 1] = [0.5, 0.5, 0.5]  # counts as a quarter of the variance of both, .02
    reach = stats.t.ppf(0.95, 4) * np.sqrt(0.02 / 4 / 3)
    np.testing.assert_allclose(
        specificity_limits(damage[None], labellings(3, 3, n=0))[1][:, 0, 1], [0.4 - reach, 0.4 + reach]
    )


def plain_limits(damage, sources, labels):
    """The same for one labelling, with loops."""
    n = damage.shape[1]
    cells = {
        (own, heads): np.array([
            np.nanmean(damage[(sources == source) & (labels == own), heads])
            for source in np.unique(sources[labels == own])
            if not np.isnan(damage[(sources == source) & (labels == own), heads]).all()
        ])
        for own in range(n) for heads in range(n)
    }  # fmt: skip
    squares = {at: ((values - values.mean()) ** 2).sum() for at, values in cells.items() if len(values)}
    freedom = sum(max(0, len(cells[c, c]) - 1) for c in range(n))
    pooled = sum(squares.get((c, c), 0.0) for c in range(n)) / freedom
    rows = []
    for c in range(n):
        own, others = cells[c, c], [o for o in range(n) if o != c and len(cells[o, c])]
        if len(own) < 3 or not others:
            rows.append([np.nan, np.nan])
            continue
        variance = max(own.var(ddof=1), pooled / 4)
        spare = sum(len(cells[o, c]) - 1 for o in others)
        elsewhere = sum(squares[o, c] for o in others) / spare if spare else variance
        error = variance / len(own) + elsewhere * sum(1 / len(cells[o, c]) for o in others) / len(others) ** 2
        difference = own.mean() - np.mean([cells[o, c].mean() for o in others])
        reach = stats.t.ppf(0.95, freedom) * np.sqrt(error)
        rows.append([difference - reach, difference + reach])
    return np.transpose(rows)


def test_limits_of_every_labelling_are_those_of_plain_loops():
    labels, sources = np.array([0] * 5 + [1] * 4 + [2] * 3), np.array([0, 0, 1, 2, 3, 3, 4, 5, 6, 6, 7, 8])
    drawn = draw_labellings(labels, sources, n_categories=3, n=8, seed=0)
    damage = np.random.default_rng(0).normal(0.2, 0.1, (9, 12, 3))
    damage[:, 4] = damage[:, 1, 2] = np.nan
    found = specificity_limits(damage, drawn)[1]
    assert np.isfinite(found).any(axis=(0, 1)).all()
    for place, (values, row) in enumerate(zip(damage, drawn.labels, strict=True)):
        np.testing.assert_allclose(found[:, place], plain_limits(values, sources, row))


def test_tasks_of_one_source_are_one_replicate_of_each_of_its_categories():
    """Two sources in both categories, and two of its own for each: four tasks of a shared one say as much as one."""
    labels, sources = np.array([0] * 10 + [1] * 10), np.array([0] * 4 + [1] * 4 + [2, 3] + [0] * 4 + [1] * 4 + [4, 5])
    damage = np.random.default_rng(1).normal(0, 0.1, (6, 2))[sources] + 0.3 * (labels[:, None] == np.arange(2))
    kept = [0, 4, 8, 9, 10, 14, 18, 19]
    whole, few = (
        specificity_limits(damage[None, places], draw_labellings(
            labels[places], sources[places], n_categories=2, n=1, seed=0
        ))
        for places in (list(range(20)), kept)
    )  # fmt: skip
    np.testing.assert_allclose(whole[0], few[0])
    np.testing.assert_allclose(whole[1], few[1])


def test_the_lower_limit_is_seldom_above_the_truth_of_skewed_effects():
    """Five sources a category; a fifth of them without heads of their own, effects of the others log-normal."""
    draws, labels = np.random.default_rng(0), np.repeat(np.arange(4), 5)
    own = 0.2 * np.exp(draws.normal(0, 0.6, (400, 20))) * (draws.random((400, 20)) >= 0.2)
    damage = draws.normal(0.1, 0.04, (400, 20, 4)) + own[..., None] * np.eye(4)[labels]
    # As if every labelling were a study.
    studies = Labellings(np.tile(labels, (400, 1)), np.arange(20), np.arange(20), ~np.eye(20, dtype=bool), 1, 4)
    low, high = specificity_limits(damage, studies)[1]
    truth = 0.8 * 0.2 * np.exp(0.6**2 / 2)
    assert ((low > truth).mean(axis=0) <= 0.08).all()
    assert ((high < truth).mean(axis=0) <= 0.2).all()  # the price of the skew
    assert (low > 0).mean() >= 0.8
