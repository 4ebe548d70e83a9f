"""Colours, their edges and the ground: at least 3:1 on light and dark pages, whatever colours a scheme has."""

import itertools
import json
import re

import numpy as np
import pytest
import xarray as xr
from covering import ALL
from figures.examples import mixed_overlap, overlap_of

from headcats.figures import data, overlap_map
from headcats.figures.colours import BACKGROUND, DARK, OUTLINE, QUIET_TEXT, TEXT, UNCLASSIFIED, ink_on, named_palette
from headcats.figures.contrast import (
    DARK_GROUND,
    EDGE,
    EDGE_OF_DARK,
    LIGHT_GROUND,
    contrast,
    distinguishable_colours,
    edge_on,
)
from headcats.results.categories import SPARE_COLOURS, STANDARD_CATEGORIES

STANDARD = [category.colour for category in STANDARD_CATEGORIES]
PALETTES = [named_palette(name, dict.fromkeys("abcdefgh", "#000000")) for name in ("headcats", "colour_blind")]
DEFAULTS = {
    *STANDARD,
    *SPARE_COLOURS,
    *(colour for palette in PALETTES for colour in palette.counts.values()),
    *PALETTES[1].categories.values(),
}
WHITE = "#ffffff"  # of a page: plotly has it as `BACKGROUND`
CUBE = ["#{:02x}{:02x}{:02x}".format(*each) for each in itertools.product(range(0, 256, 15 if ALL else 51), repeat=3)]


def test_the_ratio_is_that_of_wcag() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#ffffff", "#777777") == pytest.approx(4.48, abs=0.01)
    assert contrast("#ff0000", "#ffffff") == pytest.approx(3.998, abs=0.001)
    assert contrast("#1f77b4", "#1f77b4") == 1


def test_every_colour_or_its_edge_stands_out_on_either_page() -> None:
    for colour, ground in itertools.product({*DEFAULTS, *CUBE}, (LIGHT_GROUND, DARK_GROUND, WHITE, DARK[BACKGROUND])):
        edge = edge_on(colour)
        assert contrast(edge, colour) >= 3, colour
        assert max(contrast(colour, ground), contrast(edge, ground)) >= 3, (colour, ground)


def test_edges_are_the_same_on_both_pages() -> None:
    assert not {EDGE, EDGE_OF_DARK} & {*DARK, *DARK.values()}
    assert DARK[UNCLASSIFIED] == DARK_GROUND
    assert UNCLASSIFIED == LIGHT_GROUND


def test_swapped_colours_stay_apart_and_texts_are_read_on_either_page() -> None:
    assert len(set(DARK.values())) == len(DARK)
    assert not set(DARK) & set(DARK.values())
    for text in (TEXT, QUIET_TEXT):
        assert contrast(text, WHITE) >= 4.5
        assert contrast(DARK[text], DARK[BACKGROUND]) >= 4.5


def test_texts_and_open_cells_stand_out_on_cells() -> None:
    for colour in {*DEFAULTS, *CUBE}:
        assert contrast({"black": "#000000", "white": "#ffffff"}[ink_on(colour)], colour) >= 4.5
    assert contrast(OUTLINE, LIGHT_GROUND) >= 2.9
    assert contrast(DARK[OUTLINE], DARK_GROUND) >= 3
    assert contrast(TEXT, LIGHT_GROUND) >= 4.5


def distance(one: str, other: str) -> int:
    return sum(abs(int(one[i : i + 2], 16) - int(other[i : i + 2], 16)) for i in (1, 3, 5))


@pytest.mark.parametrize("n", [7, pytest.param(30, marks=pytest.mark.slow)])
def test_colours_that_clash_are_replaced_by_others_far_from_all(n: int) -> None:
    given = {f"c{i}": ["#1f77b4", "#1f77b5", "#ff7f0e"][i % 3] for i in range(n)}
    chosen = distinguishable_colours(given)
    assert list(chosen) == list(given)
    assert (chosen["c0"], chosen["c2"]) == ("#1f77b4", "#ff7f0e")
    least = min(distance(*pair) for pair in itertools.combinations(chosen.values(), 2))
    assert least >= (150 if n == 7 else 100)


def test_colours_clash_below_a_distance_of_60() -> None:
    for apart, stays in ((59, False), (60, True)):
        given = {"a": "#1f77b4", "b": f"#1f77{0xB4 - apart:02x}"}
        assert (distinguishable_colours(given) == given) is stays


def clashing(n: int) -> xr.Dataset:
    return mixed_overlap(4, 4, categories={f"kind {i}": "#1f77b4" for i in range(n)})


@pytest.mark.parametrize("layout", ["paper", pytest.param("hero", marks=pytest.mark.slow)])
def test_the_caption_names_categories_of_another_colour(layout: str) -> None:
    def said(table: xr.Dataset) -> str:
        """The caption from where it speaks of other colours."""
        lines = [text.text for text in overlap_map(table, layout=layout).layout.annotations]
        return " ".join(lines).replace("&nbsp;", " ").partition("another colour")[2]

    assert re.findall(r"(kind \d),? ", said(clashing(6)))[:4] == ["kind 1", "kind 2", "kind 3", "kind 4"]
    assert "4 and 1 more" in said(clashing(6))
    assert not said(mixed_overlap(4, 4))


def test_a_selection_keeps_the_colours_of_the_whole_scheme() -> None:
    whole = clashing(3)
    assert len({entry["colour"] for entry in json.loads(whole.attrs["categories"])}) == 1
    frame, part = (data(overlap_map(table)) for table in (whole, _selected(whole)))
    own = [f[(f.panel == "kind 2") & (f.outcome == "in")].colour.unique().tolist() for f in (frame, part)]
    assert own[0] == own[1] != ["#1f77b4"]


def _selected(table: xr.Dataset) -> xr.Dataset:
    part = table.sel(category=["kind 1", "kind 2"])
    return part.assign(n_categories=(part.member == 1).sum("category"))


@pytest.mark.parametrize("layout", ["paper", "hero"])
def test_coloured_cells_have_an_edge_and_no_others(layout: str) -> None:
    member = np.array([[[1, -1], [-1, 0]], [[-1, -1], [1, -1]]])
    fig = overlap_map(overlap_of(member, categories={"a": "#ff7f0e", "b": "#003566"}), layout=layout)
    lines = {}
    of_first_panel = [t for t in fig.data if t.type == "scatter" and t.xaxis == "x" and t.visible is not False]
    for trace in (trace for trace in of_first_panel if trace.name in ("edge", "a", "b")):
        lines[trace.line.color] = (round(float(np.nanmean(trace.x))), round(float(np.nanmean(trace.y))))
    assert lines == {EDGE: (0, 0), EDGE_OF_DARK: (1, 0)}
