"""How alike several sets of heads are."""

import numpy as np
import pytest

from headcats.statistics.agreement import chance_jaccard, pairwise


def test_pairs_by_hand():
    inside = np.array([[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 0, 0]], dtype=bool)
    values = np.array([[1.0, 2, 3, 4], [3, 2, 1, np.nan], [np.nan] * 4])
    table = pairwise(inside, values)
    assert table["both"].tolist() == [[2, 1, 0], [1, 2, 0], [0, 0, 0]]
    assert table["n_heads"].tolist() == [[4, 3, 0], [3, 3, 0], [0, 0, 0]]
    np.testing.assert_allclose(table["jaccard"], [[1, 1 / 3, np.nan], [1 / 3, 1, np.nan], [np.nan] * 3])
    np.testing.assert_allclose(table["correlation"], [[1, -1, np.nan], [-1, 1, np.nan], [np.nan] * 3])
    assert table["expected"][0, 1] == pytest.approx(chance_jaccard(2, 2, heads=4))
