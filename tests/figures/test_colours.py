"""Colours of categories, of several categories and of the ground are distinct, whoever looks at them on which page."""

import itertools

import numpy as np
import pytest
from covering import ALL
from figures.examples import mixed_overlap, overlap_of
from jaxtyping import Float

from headcats.base.errors import DataError
from headcats.figures import data, overlap_map
from headcats.figures.colours import (
    BACKGROUND,
    DARK,
    DARK_GROUND,
    EDGE,
    EDGE_OF_DARK,
    HATCH,
    LIGHT_GROUND,
    MOST_CATEGORIES,
    OUTLINE,
    QUIET_TEXT,
    TEXT,
    UNCLASSIFIED,
    Palette,
    category_colours,
    contrast,
    edge_on,
    ink_on,
    named_palette,
)
from headcats.results.categories import SPARE_COLOURS, STANDARD_CATEGORIES
from headcats.tasks.definition import Task
from headcats.tasks.suites import make_suite


def rgb(colour: str) -> list[int]:
    if colour.startswith("rgb("):
        return [int(value) for value in colour[4:-1].split(",")]
    return [int(colour[i : i + 2], 16) for i in (1, 3, 5)]


def distance(one: str, other: str) -> int:
    """Of 255 * 3, summed over red, green and blue."""
    return sum(abs(a - b) for a, b in zip(rgb(one), rgb(other), strict=True))


def palette(name: str, n: int) -> Palette:
    return named_palette(name, {f"Kind {i}": "#000000" for i in range(n)})


STANDARD = [category.colour for category in STANDARD_CATEGORIES]
COLOUR_BLIND = palette("colour_blind", MOST_CATEGORIES)
SEVERAL = list(palette("headcats", MOST_CATEGORIES).counts.values())
DEFAULTS = {*STANDARD, *SPARE_COLOURS, *SEVERAL, *COLOUR_BLIND.counts.values(), *COLOUR_BLIND.categories.values()}
WHITE = "#ffffff"  # of a page: plotly has it as `BACKGROUND`
CUBE = ["#{:02x}{:02x}{:02x}".format(*each) for each in itertools.product(range(0, 256, 15 if ALL else 51), repeat=3)]


def test_no_colour_of_the_overlap_map_means_two_things() -> None:
    colours = [*SEVERAL, *STANDARD, *SPARE_COLOURS, UNCLASSIFIED, HATCH]
    assert len(SEVERAL) == MOST_CATEGORIES - 1
    for pair in itertools.combinations(colours, 2):
        assert distance(*pair) >= 60, pair


def test_as_many_new_categories_as_the_map_draws_differ_in_colour() -> None:
    tasks = [Task(f"t{i}", f"kind {i}", "made up", lambda n, *, seed: [("a", "b")]) for i in range(MOST_CATEGORIES)]
    colours = {category.colour for category in make_suite(tasks).categories}
    assert len(colours) == MOST_CATEGORIES
    assert not colours & set(SEVERAL)


@pytest.mark.parametrize(
    ("categories", "message"),
    [
        (None, "attribute `categories`"),
        ("[1]", r"`categories`.*1"),
        ('[{"name": "Knowledge", "colour": "#000000"}]', "also Algorithmic"),
        ('[{"name": "Knowledge", "colour": "red;background:url(x)"}]', "'Knowledge' .*#rrggbb.*; got"),
    ],
)
def test_a_list_of_colours_that_is_none_or_lacks_a_category_is_refused(categories: str | None, message: str) -> None:
    with pytest.raises(DataError, match=message):
        category_colours(mixed_overlap(2, 2).assign_attrs(categories=categories))


def test_none_or_more_categories_than_colours_tell_apart_are_refused() -> None:
    for n, message in ((0, "got none"), (9, "8 categories.*got 9")):
        with pytest.raises(DataError, match=message):
            palette("headcats", n)


# --------------------------------------------------------------------------------------------- as other people see them
# Linear red, green and blue as seen without one kind of cone at all: Machado, Oliveira & Fernandes (2009), A
# physiologically-based model for simulation of color vision deficiency, IEEE Trans. Vis. Comput. Graph. 15, 1291-1298.
VISIONS = {
    "normal": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
# Oklab, a space in which distances follow what people see: Ottosson (2020), A perceptual color space for image
# processing, https://bottosson.github.io/posts/oklab.
CONES = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
OKLAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)


def seen(colour: str, vision: str) -> Float[np.ndarray, "3"]:
    """Oklab coordinates, times 100: the smallest difference that is noticed is about 2."""
    shares = np.array(rgb(colour)) / 255
    linear = np.where(shares <= 0.04045, shares / 12.92, ((shares + 0.055) / 1.055) ** 2.4)
    return 100 * OKLAB @ np.cbrt(CONES @ np.clip(VISIONS[vision] @ linear, 0, 1))


def closest(colours: list[str]) -> float:
    """The smallest distance between any two, in the eyes of whom it is smallest for."""
    return min(
        float(np.linalg.norm(seen(one, vision) - seen(other, vision)))
        for vision in VISIONS
        for one, other in itertools.combinations(colours, 2)
    )


@pytest.mark.parametrize("page", ["light", "dark"])
def test_the_colour_blind_palette_is_told_apart_by_everybody(page: str) -> None:
    greys = [UNCLASSIFIED, BACKGROUND]
    greys = [DARK[grey] for grey in greys] if page == "dark" else greys
    for n in range(1, MOST_CATEGORIES + 1):
        chosen = palette("colour_blind", n)
        assert list(chosen.categories) == [f"Kind {i}" for i in range(n)]
        assert list(chosen.counts) == list(range(2, n + 1))
        colours = [*chosen.categories.values(), *chosen.counts.values()]
        # The ground of a page and that of cells are near each other: gaps, edges and the outline of a panel part them.
        assert all(closest([*colours, grey]) >= (12 if n <= 4 else 9) for grey in greys), n


def test_more_categories_are_darker() -> None:
    counts = palette("colour_blind", 4).counts
    lightness = [seen(counts[k], "normal")[0] for k in (2, 3, 4)]
    assert lightness == sorted(lightness, reverse=True)


# ------------------------------------------------------------------------------------------------ contrast and clashes
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


def test_categories_have_the_colours_that_were_given() -> None:
    frame = data(overlap_map(mixed_overlap(4, 4, categories={"one": "#1f77b4", "other": "#1f77b4"})))
    for name in ("one", "other"):
        assert frame[(frame.panel == name) & (frame.outcome == "in")].colour.unique().tolist() == ["#1f77b4"]


@pytest.mark.parametrize("layout", ["paper", "hero"])
def test_coloured_cells_have_an_edge_and_no_others(layout: str) -> None:
    member = np.array([[[1, -1], [-1, 0]], [[-1, -1], [1, -1]]])
    fig = overlap_map(overlap_of(member, categories={"a": "#ff7f0e", "b": "#003566"}), layout=layout)
    lines = {}
    of_first_panel = [t for t in fig.data if t.type == "scatter" and t.xaxis == "x" and t.visible is not False]
    for trace in (trace for trace in of_first_panel if trace.name in ("edge", "a", "b")):
        lines[trace.line.color] = (round(float(np.nanmean(trace.x))), round(float(np.nanmean(trace.y))))
    assert lines == {EDGE: (0, 0), EDGE_OF_DARK: (1, 0)}
