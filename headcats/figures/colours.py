"""Colours of categories, of heads in several categories and of signed effects; contrast as WCAG 2.2 defines it.

The rule for coloured cells: around each runs an edge, dark on bright colours and light on dark ones, of at least 3:1
with the colour inside. On light and on dark pages alike the colour or its edge is at least 3:1 with the ground of
unclassified heads; colours side by side have an edge between them. Cells below 6 pixels have no room for one.
"""

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from headcats.base.errors import DataError, UnknownNameError, unknown_name_message
from headcats.results.categories import SPARE_COLOURS, STANDARD_CATEGORIES, as_hex

# Neutral colours, which a dark page swaps (`DARK`). White and black are spelt as nothing else is, so that a page that
# swaps texts finds neither the name of a task nor a colour that stands for a number.
BACKGROUND = "rgb(255,255,255)"
MARK = "rgb(0,0,0)"
"""Symbols on the grey of unclassified heads."""
FRAME = "rgb(0, 0, 0)"
"""A rectangle around cells: black, and where all around it is dark a colour that no scale has."""
LIGHT_GROUND, DARK_GROUND = "#e9ebee", "#212428"
UNCLASSIFIED = LIGHT_GROUND
"""Cells of heads in no category."""
FAINT = "#c9c9c9"
"""Areas, bars and dots that stand back: undecided heads."""
HATCH = "#6e6e6e"
TEXT = "#2a2a2a"
QUIET_TEXT = "#666666"
OUTLINE = "#888888"
"""Around boxes and swatches."""
TICK = "#999999"
GRID = "#ebebeb"
"""Lines behind bars and curves."""
# Behind signed effects, whose 0 is nearly white: a layer without heads or a missing value must not look like 0.
NO_VALUE = "#e2e2e2"

# Symbols and words on cells that are coloured by a number or a category: no page swaps these.
ON_LIGHT = "black"
ON_DARK = "white"
EDGE, EDGE_OF_DARK = "#16181b", "#f5f6f8"
"""Around bright and around dark colours; the same on light and dark pages."""
_LEAST_CONTRAST = 3.0  # of what has to be distinguished: WCAG 2.2, success criterion 1.4.11

# Red below 0, blue above 0, as in TransformerLens' own patching plots; told apart under every common colour blindness.
DIVERGING = "RdBu"

COLOUR_BLIND = "colour_blind"
"""Name of the palette whose colours are told apart under every common colour blindness."""

# Clear of each other, of the standard categories and of SPARE_COLOURS in headcats/results/categories.py.
_COUNTS = {2: "#9467bd", 3: "#8c564b", 4: "#e377c2", 5: "#17becf", 6: "#bcbd22", 7: "#393b79", 8: "#1a1a1a"}
MOST_CATEGORIES = max(_COUNTS)

# Found by annealing for the largest distance between any two of them and the greys, as seen with normal vision and by
# simulated protanopes, deuteranopes and tritanopes; the first four categories and counts of 2 to 4 keep the most, and
# darken with the number (tests/figures/test_colours.py measures it).
_COLOUR_BLIND = ("#145fc8", "#efae0d", "#01b094", "#e76400", "#c03900", "#973b8d", "#7882b7", "#13db86")
_COLOUR_BLIND_COUNTS = dict(
    zip(_COUNTS, ("#b77ffa", "#68006c", "#080010", "#4004a1", "#921b04", "#896f6e", "#aab5d8"), strict=True)
)

DARK = {
    BACKGROUND: "#1b1d21",
    MARK: "#f5f5f5",
    FRAME: "#ffb454",
    UNCLASSIFIED: DARK_GROUND,
    FAINT: "#4a4d52",
    HATCH: "#9a9fa6",
    TEXT: "#e6e6e6",
    QUIET_TEXT: "#a8adb4",
    OUTLINE: "#7d828a",
    TICK: "#767b83",
    GRID: "#2c2f35",
    NO_VALUE: "#34373c",
    _COUNTS[8]: "#f2f2f2",
}
"""Neutral colour of a figure -> its colour on a dark page. A page that replaces every string of a figure's JSON that is
one of these keys has the figure in dark: colours of categories and scales are none of them."""

NO_CATEGORY = "Unclassified"
"""Legend entry of heads in no category."""
# Name -> colours of categories in their order (None: those of the suite), and of counts.
_PALETTES = {"headcats": (None, _COUNTS), COLOUR_BLIND: (_COLOUR_BLIND, _COLOUR_BLIND_COUNTS)}


@dataclass(frozen=True)
class Palette:
    """Colours as `#rrggbb`."""

    categories: dict[str, str]
    """Category name -> colour of a head in that category alone, in category order."""
    counts: dict[int, str]
    """Number of categories (2, 3, ...) -> colour of a head in that many."""

    @property
    def entries(self) -> dict[str, str]:
        """Legend entry -> colour, from top to bottom: most categories first, the categories from last to first."""
        counts = {f"{k} categories": self.counts[k] for k in sorted(self.counts, reverse=True)}
        single = {name: self.categories[name] for name in reversed(self.categories)}
        return counts | single | {NO_CATEGORY: UNCLASSIFIED}


def named_palette(name: str, categories: dict[str, str], *, most: int = MOST_CATEGORIES) -> Palette:
    """Palette of that name for categories and their colours in the suite, as `category_colours` returns them.

    A DataError for no category, or more than `most`.
    """
    check_palette(name)
    if not categories:
        raise DataError("Expected at least one category; got none. Draw a table of some that were judged.")
    if len(categories) > most:
        raise DataError(
            f"Expected at most {most} categories, the number that colours can tell apart; "
            f"got {len(categories)}: {', '.join(categories)}. Draw a selection, `.sel(category=[...])`, or "
            'overlap_map(..., layout="hero"), which names categories by letters.'
        )
    colours, counts = _PALETTES[name]
    in_order = [*(colours or categories.values()), *list(categories.values())[len(colours or categories) :]]
    return Palette(
        dict(zip(categories, in_order, strict=False)),
        {k: counts[min(k, MOST_CATEGORIES)] for k in range(2, len(categories) + 1)},
    )


def check_palette(name: str) -> None:
    """Raise `UnknownNameError` for a palette that does not exist."""
    if name not in _PALETTES:
        raise UnknownNameError(unknown_name_message("palette", name, _PALETTES))


def category_colours(data: xr.Dataset) -> dict[str, str]:
    """Name -> colour of the categories in the coordinate `category`, in the order of the attribute `categories`.

    A DataError if that is no JSON list of `{"name": ..., "colour": ...}`, lacks a category, or has a colour that is
    none.
    """
    suite = listed_colours(data)
    names = {str(name) for name in np.atleast_1d(data["category"].values)}
    if missing := sorted(names - set(suite)):
        raise DataError(
            f"Expected categories that the attribute `categories` lists with a colour ({', '.join(suite)}); got also "
            f"{', '.join(missing)}. Add them to the attribute."
        )
    return {name: colour for name, colour in suite.items() if name in names}


def listed_colours(data: xr.Dataset) -> dict[str, str]:
    """Name -> colour of all categories in the attribute `categories`; a DataError if that is no such list."""
    text: Any = data.attrs.get("categories")
    try:
        colours = {str(entry["name"]): entry["colour"] for entry in json.loads(text)}
    except (TypeError, KeyError, ValueError):
        raise DataError(
            'Expected an attribute `categories`, a JSON list such as [{"name": "Knowledge", "colour": "#ff7f0e"}]; '
            f"got {text!r}. hc.score, hc.categorize and hc.overlap pass it on; set it again if an operation dropped it."
        ) from None
    return {name: as_hex(colour, category=name) for name, colour in colours.items()}


def suite_colours(data: xr.Dataset) -> dict[str, str]:
    """Colours as of `category_colours`; without the attribute those that a suite gives, standard and spare ones."""
    if "categories" in data.attrs:
        return category_colours(data)
    standard = {category.name: category.colour for category in STANDARD_CATEGORIES}
    spare = iter([*SPARE_COLOURS, *_COUNTS.values()])
    return {name: standard.get(name) or next(spare, UNCLASSIFIED) for name in map(str, data["category"].values)}


def luminance(colour: str) -> float:
    """Relative luminance of `#rrggbb`, from 0 (black) to 1 (white)."""
    shares = [level / 255 for level in bytes.fromhex(colour[1:])]
    linear = [share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares]
    return sum(weight * share for weight, share in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one: str, other: str) -> float:
    """Ratio of two colours, from 1 to 21."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def edge_on(colour: str) -> str:
    """Colour of the line around an area: dark where the area stands out on a dark page by itself."""
    return EDGE if contrast(colour, DARK_GROUND) >= _LEAST_CONTRAST else EDGE_OF_DARK


def ink_on(colour: str) -> str:
    """Black or white, whichever stands out more on `#rrggbb`."""
    # Equal contrast with both at the root of .05 * 1.05, less the .05 of stray light.
    return ON_LIGHT if luminance(colour) > 0.179 else ON_DARK
