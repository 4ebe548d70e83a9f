"""A member is called by what it does only where that is far out among all heads, and much."""

import numpy as np
import pytest
import xarray as xr

from headcats.categories.head_roles import head_roles

HEADS = {"layer": range(4), "head": range(8)}


def overlap(members: list[tuple[int, int]], **far: tuple[int, int, float]) -> xr.Dataset:
    """An overlap whose descriptors are small everywhere, but for one head each."""
    member = np.zeros((4, 8, 2), dtype=int) - 1
    for layer, head in members:
        member[layer, head, 1] = 1
    tables = {"member": (("layer", "head", "category"), member)}
    for name, (layer, head, value) in far.items():
        values = np.random.default_rng(0).uniform(0.01, 0.05, (4, 8))
        values[layer, head] = value
        tables[name] = (("layer", "head"), values)
    return xr.Dataset(tables, coords=HEADS | {"category": ["a", "b"]})


def test_members_that_stand_out_are_named_with_the_median_head() -> None:
    found = head_roles(overlap([(2, 3), (0, 1)], induction=(2, 3, 0.61), previous_token=(0, 1, 0.9)))
    assert [(role.head, role.name, role.value) for role in found] == [
        ("L2H3", "an induction head", 0.61),
        ("L0H1", "a previous-token head", 0.9),
    ]
    assert all(0.01 < role.median < 0.05 for role in found)


@pytest.mark.parametrize(
    ("members", "value"),
    [([(0, 0)], 0.61), ([(2, 3)], 0.3)],
    ids=["a head that is no member", "a member that does something else most of the time"],
)
def test_others_are_not_named(members: list[tuple[int, int]], value: float) -> None:
    assert head_roles(overlap(members, induction=(2, 3, value))) == []


def test_where_many_heads_do_it_none_stands_out() -> None:
    common = overlap([(2, 3)], induction=(2, 3, 0.61))
    assert head_roles(common.assign(induction=common["induction"] * 0 + np.linspace(0.1, 0.9, 8))) == []


def test_without_descriptors_or_with_none_of_a_model_nothing_is_said() -> None:
    assert head_roles(overlap([(2, 3)])) == []
    unknown = overlap([(2, 3)], copying=(2, 3, np.nan))
    assert head_roles(unknown.assign(copying=unknown["copying"] * np.nan)) == []


def test_direct_effects_are_those_of_a_category_that_the_head_is_in() -> None:
    direct = np.random.default_rng(0).uniform(-0.002, 0.002, (4, 8, 2))
    direct[2, 3], direct[1, 1], direct[0, 1] = [0.9, 0.7], 0.8, 0.04
    table = overlap([(2, 3), (0, 1)], copying=(0, 1, 0.6))
    found = head_roles(table.assign(direct_share=(("layer", "head", "category"), direct)))
    assert [(role.head, role.name, role.value, role.of) for role in found] == [
        ("L0H1", "a copying head", 0.6, ""),
        ("L2H3", "with a direct effect on the logits in b", 0.7, " of the gap"),
    ]
