"""HTML of plotly as text elements, and numbers as colours of a scale."""

import xml.etree.ElementTree as ElementTree

import numpy as np

from headcats.figures.static.elements import plain_text, scale_colours, text_svg


def element(text: str, **options: object) -> ElementTree.Element:
    look: dict = {"size": 10, "colour": "#000000"} | options
    return ElementTree.fromstring(text_svg(text, (50, 20), **look))


def test_markup_in_names_is_text_and_other_tags_leave_no_trace() -> None:
    (line,) = element("&lt;script&gt;alert(1)&lt;/script&gt; &amp; <b>bold</b><span onload='x()'> shown</span>")
    assert "".join(line.itertext()) == "<script>alert(1)</script> & bold shown"
    assert [(child.tag, child.get("font-weight")) for child in line] == [("tspan", "bold")]
    assert plain_text("<b>A</b> &lt; B<br>C") == "A < B C"


def test_lines_stand_below_each_other_from_where_they_are_asked() -> None:
    for valign, first in (("top", 29.5), ("middle", 16.5), ("bottom", 3.5)):
        lines = list(element("one<br>two", valign=valign))
        assert [line.text for line in lines] == ["one", "two"]
        assert [float(line.get("y", "")) for line in lines] == [first, first + 13]


def test_a_text_turns_around_its_place() -> None:
    turned = element("layer", anchor="center", angle=-90)
    assert turned.get("transform") == "rotate(-90 50.00 20.00)"
    assert turned.get("text-anchor") == "middle"


def test_numbers_are_coloured_between_the_stops_and_clipped_outside() -> None:
    stops = [(0, "#000000"), (0.5, "#640000"), (1, "#640064")]
    shown = scale_colours(np.array([[-9.0, 0.25, 0.5], [0.75, 9.0, np.nan]]), stops, (0.0, 1.0))
    expected = [[[0, 0, 0, 255], [50, 0, 0, 255], [100, 0, 0, 255]],
                [[100, 0, 50, 255], [100, 0, 100, 255], [0, 0, 0, 0]]]  # fmt: skip
    np.testing.assert_array_equal(shown, expected)
    np.testing.assert_array_equal(scale_colours(np.array([0.0]), "Greys", (0.0, 1.0)), [[255, 255, 255, 255]])


def test_steps_of_categories_have_no_shades_between_them() -> None:
    stops = [(0, "red"), (0.5, "red"), (0.5, "blue"), (1, "blue")]
    shown = scale_colours(np.array([0.0, 1.0]), stops, (-0.5, 1.5))
    np.testing.assert_array_equal(shown, [[255, 0, 0, 255], [0, 0, 255, 255]])
