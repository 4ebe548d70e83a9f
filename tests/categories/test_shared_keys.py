"""Do members cluster in groups that share keys and values: by chance, in truth, and where nothing can be told."""

import itertools

import numpy as np
import pytest
import xarray as xr

from headcats.categories.shared import overlap
from headcats.categories.shared_keys import key_sharing_pairs
from headcats.statistics.multiplicity import benjamini_hochberg

GRID = ("category", "layer", "head")


def members_of(
    member: np.ndarray, *, size: int, effect: np.ndarray | None = None, number: np.ndarray | None = None
) -> xr.Dataset:
    """Memberships of heads in groups of `size` neighbours, or of those that `number (layer, head)` says."""
    n, layers, heads = member.shape
    number = np.tile(np.arange(heads) // size, (layers, 1)) if number is None else number
    return xr.Dataset(
        {
            "member": (GRID, np.where(member, 1, -1).astype(np.int8)),
            "effect": (GRID, np.zeros(member.shape) if effect is None else effect),
        },
        coords={"category": [f"C{place}" for place in range(n)], "layer": np.arange(layers), "head": np.arange(heads)}
        | {"kv_head": (GRID[1:], number)},
    )


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
