"""How alike several sets of heads are, and pairs of marked elements in one group, against every choice there is."""

import itertools
import math

import numpy as np
import pytest

from headcats.statistics.agreement import Block, chance_jaccard, pairs_by_chance, pairwise


def test_pairs_by_hand():
    inside = np.array([[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 0, 0]], dtype=bool)
    values = np.array([[1.0, 2, 3, 4], [3, 2, 1, np.nan], [np.nan] * 4])
    table = pairwise(inside, values)
    assert table["both"].tolist() == [[2, 1, 0], [1, 2, 0], [0, 0, 0]]
    assert table["n_heads"].tolist() == [[4, 3, 0], [3, 3, 0], [0, 0, 0]]
    np.testing.assert_allclose(table["jaccard"], [[1, 1 / 3, np.nan], [1 / 3, 1, np.nan], [np.nan] * 3])
    np.testing.assert_allclose(table["correlation"], [[1, -1, np.nan], [-1, 1, np.nan], [np.nan] * 3])
    assert table["expected"][0, 1] == pytest.approx(chance_jaccard(2, 2, heads=4))


def pairs(group: np.ndarray, chosen: list[int]) -> int:
    return sum(math.comb(int(n), 2) for n in np.bincount(group[chosen]))


def enumerated(blocks: list[Block]) -> np.ndarray:
    """The distribution by going through every choice of every block."""
    totals = [0]
    for sizes, marked in blocks:
        group = np.repeat(np.arange(len(sizes)), sizes)
        of_block = [pairs(group, list(chosen)) for chosen in itertools.combinations(range(len(group)), marked)]
        totals = [total + more for total in totals for more in of_block]
    return np.bincount(totals) / len(totals)


@pytest.mark.parametrize(
    "blocks",
    [
        [((2, 2, 2), 3)],
        [((4, 4), 5)],
        [((1, 2, 3), 2)],
        [((3, 3), 0), ((2, 4), 3)],
        [((2, 2), 2), ((3, 1), 2), ((4,), 3)],
        [],
    ],
    ids=str,
)
def test_equals_every_choice_there_is(blocks: list[Block]) -> None:
    distribution = pairs_by_chance(blocks)
    assert distribution.sum() == pytest.approx(1)
    assert distribution == pytest.approx(enumerated(blocks))


def test_many_large_groups_stay_exact() -> None:
    distribution = pairs_by_chance([((16,) * 8, 64)] * 40)
    assert distribution.sum() == pytest.approx(1)
    assert np.arange(len(distribution)) @ distribution == pytest.approx(40 * 8 * 120 * 64 * 63 / (128 * 127))
