"""Numbers as colours of a scale."""

import numpy as np

from headcats.figures.static.colours import scale_colours


def test_numbers_are_coloured_between_the_stops_and_clipped_outside() -> None:
    stops = [(0, "#000000"), (0.5, "#640000"), (1, "#640064")]
    shown = scale_colours(np.array([[-9.0, 0.25, 0.5], [0.75, 9.0, np.nan]]), stops, (0.0, 1.0))
    expected = [[[0, 0, 0, 255], [50, 0, 0, 255], [100, 0, 0, 255]],
                [[100, 0, 50, 255], [100, 0, 100, 255], [0, 0, 0, 0]]]  # fmt: skip
    np.testing.assert_array_equal(shown, expected)


def test_steps_of_categories_have_no_shades_between_them() -> None:
    stops = [(0, "red"), (0.5, "red"), (0.5, "blue"), (1, "blue")]
    shown = scale_colours(np.array([0.0, 1.0]), stops, (-0.5, 1.5))
    np.testing.assert_array_equal(shown, [[255, 0, 0, 255], [0, 0, 255, 255]])


def test_a_scale_may_be_named() -> None:
    np.testing.assert_array_equal(scale_colours(np.array([0.0]), "Greys", (0.0, 1.0)), [[255, 255, 255, 255]])
