"""Heads of a list in the categories of a map: counts, chance within layers, and rings on the map."""

from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from for_each import for_each
from scipy.stats import hypergeom

import headcats as hc
from headcats.base.errors import DataError

pytestmark = pytest.mark.filterwarnings("ignore:Categories without a task")
RESULTS = Path(__file__).parents[2] / "tutorials" / "smollm2-icl"


@pytest.fixture(scope="module")
def members() -> xr.Dataset:
    return hc.categorize(hc.score(hc.load(RESULTS), method="denoising_patch"))


def placed(members: xr.Dataset, cells: list[tuple[int, int]]) -> xr.Dataset:
    """The memberships with these heads alone in every category."""
    made = members.copy(deep=True)
    made["member"][:] = -1
    for layer, head in cells:
        made["member"].loc[{"layer": layer, "head": head}] = 1
    return made


def test_chance_is_of_the_same_layers(members: xr.Dataset) -> None:
    made = placed(members, [(0, 0), (0, 1), (3, 2)])
    table = hc.categories.in_both(made, ["L0H0", "L0H5", "L3H2", "L5H1"])
    row = table.loc["Knowledge"]
    n = members.sizes["head"]
    assert (row.members, row.listed, row.both, row.heads) == (3, 4, 2, "L0H0, L3H2")
    assert row.expected == pytest.approx(2 * 2 / n + 1 / n)
    exactly_one_of_two = hypergeom(n, 2, 2).pmf([1, 2])
    expected = exactly_one_of_two.sum() * 1 / n + exactly_one_of_two[1] * (n - 1) / n
    assert row.p_value == pytest.approx(expected)
    assert table.loc["any"].both == 2


def test_random_lists_have_a_uniform_p_value(members: xr.Dataset) -> None:
    draws = np.random.default_rng(0)
    n, layers = members.sizes["head"], members["layer"].values.tolist()
    made = placed(members, [(int(layer), head) for layer in layers for head in (0, 1)])
    low = [
        hc.categories.in_both(made, [(int(layer), int(draws.integers(n))) for layer in layers]).loc["any"].p_value
        <= 0.1
        for _ in range(200)
    ]
    assert 0 < np.mean(low) <= 0.13


def test_a_category_that_is_not_judged_has_no_chance(members: xr.Dataset) -> None:
    blank = members.copy(deep=True)
    name = str(blank["category"].values[0])
    blank["effect"].loc[{"category": name}] = np.nan
    blank["member"].loc[{"category": name}] = -1
    table = hc.categories.in_both(blank, ["L0H1"])
    assert table.loc[name, ["expected", "p_value"]].isna().all()
    assert table.loc["any", "listed"] == 1


@for_each(
    "heads,message",
    [
        ([], "at least one"),
        ("L0H1", "a list"),
        (["L0H1", (0, 1)], "twice"),
        (["L99H0"], "no head L99H0"),
        (["L0H99"], "L0H99"),
    ],
)
def test_wrong_heads_are_refused(members: xr.Dataset, heads: object, message: str) -> None:
    with pytest.raises(DataError, match=message):
        hc.categories.in_both(members, heads)  # type: ignore[arg-type]


def test_heads_of_a_list_are_ringed(members: xr.Dataset) -> None:
    shared = hc.overlap(members)
    for layout in ("paper", "hero"):
        fig = hc.figures.overlap_map(shared, heads=["L0H1", "L3H2"], layout=layout)
        table = hc.figures.data(fig)
        assert (
            table[table["listed"]].groupby("panel")["name"].agg(set).map(lambda names: names == {"L0H1", "L3H2"}).all()
        )
        ringed = [
            trace for trace in fig.data if trace.name == "In the list" and trace.x is not None and len(trace.x) == 2
        ]
        assert ringed
        assert "listed" not in hc.figures.data(hc.figures.overlap_map(shared, layout=layout))
