"""Colours of categories: what is accepted, and what is said of anything else."""

import pytest
from _plotly_utils.basevalidators import ColorValidator
from for_each import for_each

from headcats.base.errors import DataError
from headcats.results.categories import as_hex, css_colours


@for_each(
    "colour,value",
    [
        ("#1f77b4", "#1f77b4"),
        ("#FFF", "#ffffff"),
        ("rgb(31, 119, 180)", "#1f77b4"),
        ("rgb(0,0,255)", "#0000ff"),
        ("Teal", "#008080"),
        ("rebeccapurple", "#663399"),
    ],
)
def test_colours_of_css(colour: str, value: str) -> None:
    assert as_hex(colour, category="a") == value
    assert ColorValidator.perform_validate_coerce(colour) == colour, "plotly draws it as well"


@for_each(
    "colour",
    ["", "no colour", "#12345", "#12345g", "1f77b4", "rgb(1, 2)", "rgb(1, 2, 256)", "rgb(1%, 2%, 3%)", "rgb(-1, 2, 3)",
     "#fff\n", "red;background:url(//a)", "hsl(1, 2%, 3%)", None, 3, ["red"]],
)  # fmt: skip
def test_anything_else_is_refused_with_what_is_accepted(colour: object, unchecked_types: None) -> None:
    with pytest.raises(DataError, match=r"'K' .*#rrggbb, #rgb, rgb\(") as refused:
        as_hex(colour, category="K")
    assert repr(colour)[:60] in str(refused.value)


def test_names_are_those_of_plotly() -> None:
    assert css_colours().keys() == set(ColorValidator.named_colors)
    assert all(len(value) == 7 for value in css_colours().values())
