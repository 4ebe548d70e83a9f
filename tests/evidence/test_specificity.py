"""Damage by category and category, with independent sources as replicates."""

import numpy as np
import pytest
from damages import heads, labellings

from headcats.evidence.specificity import damage_table
from headcats.statistics.labellings import draw_labellings


def table_of(values, drawn):
    """Damage (task, category) with the true labels."""
    categories = list("ABC"[: drawn.n_categories])
    picks = np.zeros((1, len(categories)), dtype=int)
    chosen = {f"t{place}": ([heads("L0H0")], picks) for place in range(len(values))}
    return damage_table(np.array(values, dtype=float), drawn, chosen, categories=categories)


def test_cells_by_hand():
    table = table_of([[0.5, 0.1], [0.7, 0.3], [0.1, 0.4], [np.nan, np.nan]], labellings(2, 2, n=0))
    np.testing.assert_allclose(table["damage"], [[0.6, 0.1], [0.2, 0.4]])
    assert table["n_sources"].values.tolist() == [2, 1]
    assert table["task_damage"].sel(category="A", task="t2") == pytest.approx(0.1)
    assert table["task_category"].values.tolist() == ["A", "A", "B", "B"]


def test_tasks_of_one_source_count_as_one():
    labels, sources = np.array([0, 0, 0, 1, 1]), np.array([0, 0, 1, 2, 3])
    drawn = draw_labellings(labels, sources, n_categories=2, n=10, seed=0)
    table = table_of([[0.2, 0.0], [0.4, 0.0], [0.9, 0.0], [0.0, 0.5], [0.0, np.nan]], drawn)
    assert table["damage"].sel(category="A", target="A") == pytest.approx(0.6)
    assert table["n_sources"].values.tolist() == [2, 1]
