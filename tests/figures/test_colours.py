"""Colours of categories and colours of several categories are never the same."""

from headcats.figures.colours import HATCH, MOST_CATEGORIES, UNCLASSIFIED, named_palette
from headcats.tasks import Task, make_suite
from headcats.tasks.suites import SPARE_COLOURS, STANDARD_CATEGORIES


def rgb(colour: str) -> list[int]:
    return [int(colour[i : i + 2], 16) for i in (1, 3, 5)]


def several() -> list[str]:
    """The colours of 2, 3, ... categories."""
    counts = named_palette("headcats", {f"Kind {i}": "#000000" for i in range(MOST_CATEGORIES)}).counts
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
