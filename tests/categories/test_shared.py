"""Shared heads: bounds from undecided memberships, and members that cluster in groups that share keys and values."""

import itertools

import numpy as np
import pytest
import xarray as xr
from memberships import GRID, memberships

from headcats.categories.shared import count_bounds, jaccard_bounds, key_sharing_pairs, overlap
from headcats.statistics.agreement import jaccards
from headcats.statistics.multiplicity import benjamini_hochberg


def settled(outcome: np.ndarray) -> np.ndarray:
    """Memberships of every way to settle the zeros, `(way, category, head)`."""
    zeros = np.argwhere(outcome == 0)
    ways = []
    for choice in itertools.product((False, True), repeat=len(zeros)):
        inside = outcome == 1
        inside[tuple(zeros.T)] = choice
        ways.append(inside)
    return np.array(ways)


@pytest.mark.parametrize("seed", range(2))
def test_they_are_the_extremes_over_every_way_to_settle_them(seed: int) -> None:
    outcome = np.random.default_rng(seed).choice([-1, 0, 1], size=(3, 4), p=[0.35, 0.45, 0.2])
    ways = settled(outcome)
    counts = np.stack([(ways.sum(axis=1) == k).sum(axis=1) for k in (1, 2, 3)], axis=1)
    least, most = count_bounds(outcome == 1, outcome == 0)
    np.testing.assert_array_equal(least, counts.min(axis=0))
    np.testing.assert_array_equal(most, counts.max(axis=0))
    # Two empty categories have no index.
    indices = jaccards(ways)
    smallest, largest = jaccard_bounds(outcome == 1, outcome == 0)
    known = np.isfinite(indices).any(axis=0)
    assert (np.isnan(smallest) == ~known).all()
    np.testing.assert_allclose(smallest[known], np.where(np.isnan(indices), 2, indices).min(axis=0)[known])
    np.testing.assert_allclose(largest[known], np.where(np.isnan(indices), -1, indices).max(axis=0)[known])


def test_without_undecided_heads_they_are_the_numbers_themselves() -> None:
    inside = np.random.default_rng(0).random((4, 30)) < 0.4
    none = np.zeros_like(inside)
    counts = [(inside.sum(axis=0) == k).sum() for k in range(1, 5)]
    assert [bound.tolist() for bound in count_bounds(inside, none)] == [counts, counts]
    for bound in jaccard_bounds(inside, none):
        np.testing.assert_allclose(bound, jaccards(inside))


def members_of(member: np.ndarray, *, size: int, effect: object = 0.0, number: np.ndarray | None = None) -> xr.Dataset:
    """Memberships of heads in groups of `size` neighbours, or of those that `number (layer, head)` says."""
    _, layers, heads = member.shape
    number = np.tile(np.arange(heads) // size, (layers, 1)) if number is None else number
    names = [f"C{place}" for place in range(len(member))]
    return memberships(np.where(member, 1, -1), effect=effect, names=names).assign_coords(kv_head=(GRID[1:], number))


def table(members: xr.Dataset) -> dict[str, list[float]]:
    return {name: values.values.tolist() for name, values in key_sharing_pairs(members).items()}


def test_pairs_are_counted_within_layers_and_p_is_that_of_every_placement() -> None:
    member = np.zeros((2, 2, 6), dtype=bool)
    member[0, 0, [0, 1, 2]] = True  # two of three in one group of two
    member[0, 1, [3, 4]] = True
    member[1, 0, [0, 2, 4]] = True
    found = table(members_of(member, size=2))
    assert found["kv_pairs"] == [1, 0]

    def pairs(*chosen: tuple[int, ...]) -> int:
        return sum(int((np.bincount(np.array(heads) // 2) == 2).sum()) for heads in chosen)

    threes, twos = (list(itertools.combinations(range(6), n)) for n in (3, 2))
    placements = [pairs(first, second) for first in threes for second in twos]
    assert found["kv_pairs_expected"][0] == pytest.approx(np.mean(placements))
    assert found["kv_pairs_p"][0] == pytest.approx(np.mean(np.array(placements) >= 1))
    alone = [pairs(first) for first in threes]
    assert found["kv_pairs_expected"][1] == pytest.approx(np.mean(alone))
    assert found["kv_pairs_p"][1] == 1
    assert found["kv_pairs_q"] == pytest.approx(benjamini_hochberg(np.array(found["kv_pairs_p"])))


def test_heads_without_a_number_take_no_part() -> None:
    member, effect = np.zeros((1, 1, 8), dtype=bool), np.zeros((1, 1, 8))
    member[0, 0, [0, 1]] = True
    effect[0, 0, 6:] = np.nan
    number = np.array([[0, 0, 1, 1, 2, 2, -1, -1]])
    found = table(members_of(member, size=2, effect=effect, number=number))
    assert found["kv_pairs_p"] == [pytest.approx(1 / 5)]  # the partner of one member among the five others


@pytest.mark.parametrize(
    ("chosen", "size", "expected"),
    [
        ([(0, 0), (1, 1)], 2, 0.0),  # one member a layer
        ([], 2, 0.0),
        ([(0, 0), (0, 3)], 4, 1.0),  # all heads of a layer share
        ([(0, head) for head in range(4)], 2, 2.0),  # all heads are members
    ],
)
def test_nothing_to_tell_where_only_one_number_is_possible(
    chosen: list[tuple[int, int]], size: int, expected: float
) -> None:
    member = np.zeros((1, 2, 4), dtype=bool)
    for place in chosen:
        member[0, *place] = True
    found = table(members_of(member, size=size))
    assert np.isnan(found["kv_pairs_p"] + found["kv_pairs_q"]).all()
    assert found["kv_pairs_expected"] == [pytest.approx(expected)]
    assert found["kv_pairs"] == [int(expected)]


def test_a_category_without_numbers_has_none() -> None:
    found = table(members_of(np.zeros((1, 2, 4), dtype=bool), size=2, effect=np.full((1, 2, 4), np.nan)))
    assert found["kv_pairs"] == [0]
    assert np.isnan([found[name][0] for name in ("kv_pairs_expected", "kv_pairs_p", "kv_pairs_q")]).all()


def test_members_at_random_within_layers_are_rarely_called() -> None:
    """The null itself, layers as unequal as they like: P(p <= a) is at most a, and close to it."""
    rng, n = np.random.default_rng(0), 1_000
    sizes = (0, 2, 5, 9, 16, 3, 7, 12)
    member = np.zeros((n, len(sizes), 16), dtype=bool)
    for layer, size in enumerate(sizes):
        for row in member:
            row[layer, rng.permutation(16)[:size]] = True
    p_value = np.array(table(members_of(member, size=4))["kv_pairs_p"])
    for alpha in (0.01, 0.05, 0.2, 0.5):
        called, error = (p_value <= alpha).mean(), np.sqrt(alpha * (1 - alpha) / n)
        assert called <= alpha + 3 * error
    assert (p_value <= 0.2).mean() > 0.1  # discrete, not powerless


def test_overlap_says_it_for_helping_and_suppressing_heads_where_heads_share() -> None:
    member = np.zeros((2, 3, 8), dtype=bool)
    member[0, :, :2] = True
    members = members_of(member, size=2)
    members["suppressing"] = (GRID, -np.ones(member.shape, dtype=np.int8))
    members["suppressing"][1, :, 4:6] = 1
    for sign, pairs in (("helping", [3, 0]), ("suppressing", [0, 3])):
        assert overlap(members, sign=sign, draws=1)["kv_pairs"].values.tolist() == pairs
    assert not [name for name in overlap(members.drop_vars("kv_head"), draws=1) if str(name).startswith("kv_")]
