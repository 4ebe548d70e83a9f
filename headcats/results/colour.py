"""Colours of categories, as figures and pages can draw them."""

import re

from headcats.base.errors import DataError
from headcats.results.css_colours import CSS_COLOURS

_HEX = re.compile("#([0-9a-f]{3}|[0-9a-f]{6})")
_RGB = re.compile(r"rgb\( ?(\d{1,3}), ?(\d{1,3}), ?(\d{1,3}) ?\)")


def check_colour(colour: str, *, category: str) -> None:
    """Refuse what is no colour.

    Args:
        colour: `#rrggbb`, `#rgb`, `rgb(r, g, b)` with whole numbers from 0 to 255, or a name of CSS, in any case.
        category: Whose colour it is, for the message.

    Raises:
        DataError: It is none of these.
    """
    as_hex(colour, category=category)


def as_hex(colour: str, *, category: str) -> str:
    """A colour as `#rrggbb`; arguments and errors are those of `check_colour`.

    Example:
        >>> as_hex("teal", category="Knowledge"), as_hex("rgb(255, 127, 14)", category="Knowledge")
        ('#008080', '#ff7f0e')
    """
    text = colour.lower() if isinstance(colour, str) else ""
    if text in CSS_COLOURS:
        return CSS_COLOURS[text]
    if _HEX.fullmatch(text):
        return text if len(text) == 7 else "#" + "".join(2 * digit for digit in text[1:])
    if (match := _RGB.fullmatch(text)) and max(shares := [int(share) for share in match.groups()]) <= 255:
        return "#{:02x}{:02x}{:02x}".format(*shares)
    raise DataError(
        f"Category {category!r} has no colour: expected #rrggbb, #rgb, rgb(r, g, b) with numbers from 0 to 255, or a "
        f"name of CSS such as teal; got {colour!r:.60}."
    )
