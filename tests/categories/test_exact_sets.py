"""Heads of every exact set of categories, and how many chance alone would give."""

import itertools

import numpy as np
import pytest
import xarray as xr
from memberships import memberships
from scipy import stats

from headcats.base.errors import DataError
from headcats.categories.exact_sets import exact_sets
from headcats.categories.shared import overlap


def overlap_of(member: np.ndarray, *, effect: object = 0.0) -> xr.Dataset:
    """What `hc.overlap` makes of those memberships; layers are counted from 1."""
    members = memberships(member, effect=effect, names=[f"C{place}" for place in range(len(member))])
    return overlap(members.assign_coords(layer=members["layer"] + 1), draws=1)


def scattered(shape: tuple[int, ...], share: float = 0.3) -> np.ndarray:
    return np.where(np.random.default_rng(0).random(shape) < share, 1, -1)


def test_every_head_is_in_exactly_one_set() -> None:
    member = scattered((3, 4, 5))
    sets = exact_sets(overlap_of(member))
    names = ["", "C0", "C1", "C2", "C0+C1", "C0+C2", "C1+C2", "C0+C1+C2"]
    assert sets["set"].values.tolist() == names
    assert sets.attrs["n_heads"] == int(sets["observed"].sum()) == 20
    for i, name in enumerate(names):
        inside = [c in name.split("+") for c in ("C0", "C1", "C2")]
        exact = ((member == 1) == np.array(inside)[:, None, None]).all(0)
        assert sets["contains"].values[i].tolist() == inside
        assert int(sets["observed"][i]) == exact.sum()
        assert str(sets["heads"].values[i]) == ", ".join(f"L{layer + 1}H{head}" for layer, head in np.argwhere(exact))


@pytest.mark.parametrize("suffix", ["", "_within_layers"])
def test_expected_numbers_sum_to_the_heads(suffix: str) -> None:
    sets = exact_sets(overlap_of(scattered((4, 6, 8))))
    assert float(sets[f"expected{suffix}"].sum()) == pytest.approx(48)
    assert (sets[f"low{suffix}"] <= sets[f"expected{suffix}"].round(9)).all()
    assert (sets[f"high{suffix}"] >= sets[f"expected{suffix}"].round(9)).all()
    assert float(sets[f"p{suffix}"].min()) > 0
    empty = sets[f"p{suffix}"].values[sets["observed"].values == 0]
    assert empty.tolist() == pytest.approx([1] * len(empty))


def test_two_categories_share_as_many_as_the_hypergeometric_distribution_says() -> None:
    member = -np.ones((2, 1, 40))
    member[0, 0, :12] = 1
    member[1, 0, 6:16] = 1
    both = exact_sets(overlap_of(member)).sel(set="C0+C1")
    chance = stats.hypergeom(40, 12, 10)
    assert float(both["expected"]) == pytest.approx(chance.mean())
    assert (int(both["low"]), int(both["high"])) == (chance.ppf(0.025), chance.ppf(0.975))
    assert float(both["p"]) == pytest.approx(chance.sf(5))
    # One layer: the same within layers.
    assert float(both["p_within_layers"]) == pytest.approx(chance.sf(5))


def test_all_placements_of_small_categories_give_the_same() -> None:
    member = np.array([[[1, 1, -1, -1], [1, -1, -1, -1]], [[1, -1, -1, -1], [1, 1, -1, -1]]])
    sets = exact_sets(overlap_of(member))
    rows = [set(itertools.permutations(row)) for category in member for row in category]
    drawn = np.array([[[a, b], [c, d]] for a, b, c, d in itertools.product(*rows)]).reshape(-1, 2, 8) == 1
    for name, inside in (("", (0, 0)), ("C0", (1, 0)), ("C1", (0, 1)), ("C0+C1", (1, 1))):
        counts = (drawn == np.array(inside, dtype=bool)[:, None]).all(1).sum(1)
        one = sets.sel(set=name)
        assert float(one["expected_within_layers"]) == pytest.approx(counts.mean())
        assert float(one["p_within_layers"]) == pytest.approx((counts >= int(one["observed"])).mean())
        ends = np.quantile(counts, [0.025, 0.975], method="inverted_cdf")
        assert [int(one["low_within_layers"]), int(one["high_within_layers"])] == ends.tolist()


def test_heads_and_categories_without_numbers_take_no_part() -> None:
    member, effect = scattered((3, 2, 4)), np.zeros((3, 2, 4))
    effect[1] = np.nan
    member[:, 1, 3], effect[:, 1, 3] = -1, np.nan
    sets = exact_sets(overlap_of(member, effect=effect))
    assert sets["category"].values.tolist() == ["C0", "C2"]
    assert sets.attrs["n_heads"] == int(sets["observed"].sum()) == 7
    assert float(sets["expected"].sum()) == pytest.approx(7)
    with pytest.raises(DataError, match="one category"):
        exact_sets(overlap_of(member, effect=np.full(effect.shape, np.nan)))


def test_heads_of_a_set_for_certain_and_possibly() -> None:
    member = np.array([[[1, 1, 1, 0, -1]], [[-1, 0, 1, 0, 0]]])
    sets = exact_sets(overlap_of(member))
    assert sets["set"].values.tolist() == ["", "C0", "C1", "C0+C1"]
    counts = {name: sets[name].values.tolist() for name in ("observed", "observed_least", "observed_most")}
    assert counts["observed"] == [2, 2, 0, 1]
    assert counts["observed_least"] == [0, 1, 0, 1]
    assert counts["observed_most"] == [2, 3, 2, 3]
