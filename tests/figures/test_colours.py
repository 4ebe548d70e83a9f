"""Colours of categories and colours of several categories are never the same, whoever looks at them."""

import itertools

import numpy as np
import pytest
from jaxtyping import Float

from headcats.figures.colours import BACKGROUND, DARK, HATCH, MOST_CATEGORIES, UNCLASSIFIED, Palette, named_palette
from headcats.results.categories import SPARE_COLOURS, STANDARD_CATEGORIES
from headcats.tasks.definition import Task
from headcats.tasks.suites import make_suite


def rgb(colour: str) -> list[int]:
    if colour.startswith("rgb("):
        return [int(value) for value in colour[4:-1].split(",")]
    return [int(colour[i : i + 2], 16) for i in (1, 3, 5)]


def palette(name: str, n: int) -> Palette:
    return named_palette(name, {f"Kind {i}": "#000000" for i in range(n)})


def several() -> list[str]:
    """The colours of 2, 3, ... categories."""
    counts = palette("headcats", MOST_CATEGORIES).counts
    assert list(counts) == list(range(2, MOST_CATEGORIES + 1))
    return list(counts.values())


def test_no_colour_of_the_overlap_map_means_two_things() -> None:
    standard = [category.colour for category in STANDARD_CATEGORIES]
    colours = [*several(), *standard, *SPARE_COLOURS, UNCLASSIFIED, HATCH]
    for i, one in enumerate(colours):
        for other in colours[:i]:
            # Of 255 * 3, summed over red, green and blue.
            assert sum(abs(a - b) for a, b in zip(rgb(one), rgb(other), strict=True)) >= 60, (one, other)


def test_as_many_new_categories_as_the_map_draws_differ_in_colour() -> None:
    tasks = [Task(f"t{i}", f"kind {i}", "made up", lambda n, *, seed: [("a", "b")]) for i in range(MOST_CATEGORIES)]
    colours = {category.colour for category in make_suite(tasks).categories}
    assert len(colours) == MOST_CATEGORIES
    assert not colours & set(several())


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
