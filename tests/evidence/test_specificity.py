"""Damage by category and category, the causal statistic, and intervals over tasks."""

import numpy as np
import pytest
from damages import damage, heads, labellings
from scipy import stats

from headcats.evidence.labelling_statistics import (
    unit_damage,
)
from headcats.statistics.labellings import draw_labellings
from headcats.evidence.specificity import specificity, t_contrast


def table_of(values, *sizes, measured=None):
    """Damage (task, category) with the true labels."""
    drawn = labellings(*sizes, n=0)
    names = [f"t{place}" for place in range(len(values))]
    categories = list("ABC"[: len(sizes)])
    chosen = {name: dict.fromkeys(categories, heads("L0H0")) for name in names}
    return specificity(np.array([values], dtype=float), drawn, chosen, measured or {}, categories=categories)


def test_cells_and_specificity_by_hand():
    table = table_of([[0.5, 0.1], [0.7, 0.3], [0.1, 0.4], [0.3, 0.6]], 2, 2)
    np.testing.assert_allclose(table["damage"], [[0.6, 0.2], [0.2, 0.5]])
    np.testing.assert_allclose(table["specificity"], [0.4, 0.3])
    assert table["n_units"].values.tolist() == [[2, 2], [2, 2]]
    low, high = stats.t.interval(0.95, 1, loc=0.6, scale=0.1)
    np.testing.assert_allclose([table["low"][0, 0], table["high"][0, 0]], [low, high])
    assert table["task_damage"].sel(category="A", task="t2") == pytest.approx(0.1)


def test_the_interval_of_a_difference_is_welchs():
    own, other = np.array([0.5, 0.7, 0.9]), np.array([0.1, 0.15])
    found = t_contrast([own, other], [1.0, -1.0])
    expected = stats.ttest_ind(own, other, equal_var=False).confidence_interval(0.95)
    np.testing.assert_allclose(found, [own.mean() - other.mean(), expected.low, expected.high])


def test_intervals_need_two_tasks_somewhere():
    assert np.isnan(t_contrast([np.array([0.5])], [1.0])[1:]).all()
    # A single task is taken to vary like the others: 1 + 1 / 4 of their variance.
    own = np.array([0.5, 0.6, 0.7, 0.8])
    expected = stats.t.interval(0.95, 3, loc=0.55, scale=np.sqrt(own.var(ddof=1) * (1 + 1 / 4)))
    np.testing.assert_allclose(t_contrast([own, np.array([0.1])], [1.0, -1.0])[1:], expected)
    assert np.isnan(t_contrast([np.array([0.5, 0.6]), np.array([])], [1.0, -1.0])).all()
    assert t_contrast([np.array([0.5, 0.5])], [1.0]) == (0.5, 0.5, 0.5)


def test_the_t_interval_over_five_tasks_covers():
    """A bootstrap of tasks and items covers 91 to 93 % where tasks differ (docs/relabelling.md)."""
    draws, hits = np.random.default_rng(0), 0
    for _ in range(400):
        tasks = 0.1 + draws.normal(0, 0.05, 5) + draws.normal(0, 0.04, 5)
        _, low, high = t_contrast([tasks], [1.0])
        hits += low <= 0.1 <= high
    assert 0.92 <= hits / 400 <= 0.98


def test_one_category_has_no_specificity():
    table = table_of([[0.5], [0.7]], 2)
    assert np.isnan(table["specificity"]).all()
    assert table["damage"].item() == pytest.approx(0.6)


def test_tasks_of_one_block_count_as_one():
    labels, blocks = np.array([0, 0, 0, 1, 1]), np.array([0, 0, 1, 2, 3])
    drawn = draw_labellings(labels, blocks, n_categories=2, n=10, seed=0)
    values = np.tile([[0.2, 0.0], [0.4, 0.0], [0.9, 0.0], [0.0, 0.5], [0.0, np.nan]], (len(drawn.labels), 1, 1))
    np.testing.assert_allclose(unit_damage(values, drawn)[0, :, 0], [0.3, 0.9, 0.0, 0.0])
    chosen = {f"t{place}": dict.fromkeys("AB", heads("L0H0")) for place in range(5)}
    table = specificity(values, drawn, chosen, {}, categories=["A", "B"])
    assert table["damage"].sel(category="A", target="A") == pytest.approx(0.6)
    assert table["n_units"].values.tolist() == [[2, 2], [2, 1]]


def test_facts_of_the_prompts_are_kept():
    measured = {"t0": damage("t0", "A", lambda members: 0.5, [heads("L0H0")], n=7)}
    table = table_of([[0.5, 0.1], [np.nan, np.nan], [0.1, 0.4]], 2, 1, measured=measured)
    assert table["n_prompts"].values.tolist() == [7, 0, 0]
    assert table["gap"].values[0] == 2.0
    assert table["task_category"].values.tolist() == ["A", "A", "B"]
