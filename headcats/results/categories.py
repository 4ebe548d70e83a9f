"""Categories, each a name and a colour: those of the bundled suites, their order, and colours that pages can draw."""

import functools
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from headcats.base.errors import LONGEST_NAME, DataError, unstorable

_HEX = re.compile("#([0-9a-f]{3}|[0-9a-f]{6})")
_RGB = re.compile(r"rgb\( ?(\d{1,3}), ?(\d{1,3}), ?(\d{1,3}) ?\)")

# As many as the overlap map has room for, distinct from each other, the standard categories, the map's greys and its
# colours for several categories (headcats/figures/colours.py).
SPARE_COLOURS = ("#00eebb", "#990044", "#ffcc88", "#445500", "#bbbbff", "#996600", "#ff8888", "#77aa77")
FUNCTIONS = (
    "Knowledge Recall",
    "Retrieval",
    "Logical Reasoning",
    "Decision-making",
    "Semantic Understanding",
    "Syntactic Understanding",
    "Inference",
    "Math Calculation",
)
"""Functions in the row order of the figure. Ma et al. (2025), Cognitive Mirrors, arXiv 2512.10978."""


@functools.cache
def css_colours() -> dict[str, str]:
    """Name in lower case -> `#rrggbb`, of CSS Color Module Level 4, section 6.1."""
    colours: dict[str, str] = json.loads(Path(__file__).with_name("css_colours.json").read_text(encoding="utf-8"))
    return colours


def as_hex(colour: str, *, category: str) -> str:
    """`#rrggbb` of `#rrggbb`, `#rgb`, `rgb(r, g, b)` (0 to 255) or a name of CSS, in any case; else a DataError.

    Example:
        >>> as_hex("teal", category="Knowledge"), as_hex("rgb(255, 127, 14)", category="Knowledge")
        ('#008080', '#ff7f0e')
    """
    text = colour.lower() if isinstance(colour, str) else ""
    if text in css_colours():
        return css_colours()[text]
    if _HEX.fullmatch(text):
        return text if len(text) == 7 else "#" + "".join(2 * digit for digit in text[1:])
    if (match := _RGB.fullmatch(text)) and max(shares := [int(share) for share in match.groups()]) <= 255:
        return "#{:02x}{:02x}{:02x}".format(*shares)
    raise DataError(
        f"Category {category!r} has no colour: expected #rrggbb, #rgb, rgb(r, g, b) with numbers from 0 to 255, or a "
        f"name of CSS such as teal; got {colour!r:.60}."
    )


@dataclass(frozen=True)
class Category:
    """A kind of task.

    Attributes:
        name: Name in figures; any text that is not blank.
        colour: `#rrggbb`, `#rgb`, `rgb(r, g, b)` or a name of CSS.

    Raises:
        DataError: A blank name, or one that results cannot hold; or what is no colour.
    """

    name: str
    colour: str

    def __post_init__(self) -> None:
        blank = not isinstance(self.name, str) or not self.name.strip()
        if problem := "which is blank" if blank else unstorable(self.name, most=LONGEST_NAME):
            raise DataError(f"A category needs a name that results can hold; got {self.name!r:.80}, {problem}.")
        as_hex(self.colour, category=self.name)


STANDARD_CATEGORIES = (
    Category("Algorithmic", "#1f77b4"),
    Category("Knowledge", "#ff7f0e"),
    Category("Linguistic", "#2ca02c"),
    Category("Translation", "#d62728"),
)


def coloured(names: Iterable[str], categories: Sequence[Category] = ()) -> tuple[Category, ...]:
    """Categories of these names, in their order after those given: standard colours, then spare ones."""
    by_name = {category.name.casefold(): category for category in categories}
    for name in names:
        used = {category.colour for category in by_name.values()}
        again = SPARE_COLOURS[len(by_name) % len(SPARE_COLOURS)]
        spare = next((colour for colour in SPARE_COLOURS if colour not in used), again)
        standard = (category for category in STANDARD_CATEGORIES if category.name.casefold() == name.casefold())
        by_name.setdefault(name.casefold(), next(standard, Category(name, spare)))
    return tuple(by_name.values())
