"""HTML of plotly as text elements."""

import xml.etree.ElementTree as ElementTree

from headcats.figures.static.text import plain_text, svg_text


def element(text: str, **options: object) -> ElementTree.Element:
    look: dict = {"size": 10, "colour": "#000000"} | options
    return ElementTree.fromstring(svg_text(text, (50, 20), **look))


def test_markup_in_names_is_text() -> None:
    (line,) = element("&lt;script&gt;alert(1)&lt;/script&gt; &amp; <b>bold</b>")
    assert "".join(line.itertext()) == "<script>alert(1)</script> & bold"
    assert [child.get("font-weight") for child in line] == ["bold"]


def test_tags_that_are_not_drawn_leave_no_trace() -> None:
    (line,) = element("<span onload='x()'>shown</span>")
    assert "".join(line.itertext()) == "shown"
    assert list(line) == []


def test_lines_stand_below_each_other_from_where_they_are_asked() -> None:
    for valign, first in (("top", 29.5), ("middle", 16.5), ("bottom", 3.5)):
        lines = list(element("one<br>two", valign=valign))
        assert [line.text for line in lines] == ["one", "two"]
        assert [float(line.get("y", "")) for line in lines] == [first, first + 13]


def test_a_text_turns_around_its_place() -> None:
    turned = element("layer", anchor="center", angle=-90)
    assert turned.get("transform") == "rotate(-90 50.00 20.00)"
    assert turned.get("text-anchor") == "middle"


def test_plain_text_is_what_is_read() -> None:
    assert plain_text("<b>A</b> &lt; B<br>C") == "A < B C"
