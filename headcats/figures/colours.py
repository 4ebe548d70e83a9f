"""Colours of categories, of heads in several categories, and of signed effects."""

import json
from dataclasses import dataclass
from typing import Any

import xarray as xr

from headcats.errors import DataError, UnknownNameError
from headcats.registry import unknown_name_message

UNCLASSIFIED = "#d3d3d3"
HATCH = "#6e6e6e"
TEXT = "#2a2a2a"
QUIET_TEXT = "#666666"
# Behind signed effects, whose 0 is nearly white: a layer without heads or a missing value must not look like 0.
NO_VALUE = "#e2e2e2"
# Red below 0, blue above 0, as in TransformerLens' own patching plots; told apart under every common colour blindness.
DIVERGING = "RdBu"

# Clear of each other, of the standard categories and of SPARE_COLOURS in headcats/tasks/suites.py.
_COUNTS = {2: "#9467bd", 3: "#8c564b", 4: "#e377c2", 5: "#17becf", 6: "#bcbd22", 7: "#393b79", 8: "#1a1a1a"}
MOST_CATEGORIES = max(_COUNTS)


@dataclass(frozen=True)
class Palette:
    """Colours as `#rrggbb`."""

    categories: dict[str, str]
    """Category name -> colour of a head in that category alone, in category order."""
    counts: dict[int, str]
    """Number of categories (2, 3, ...) -> colour of a head in that many."""
    unclassified: str = UNCLASSIFIED
    """Heads in no category."""


def named_palette(name: str, categories: dict[str, str]) -> Palette:
    """The palette of that name for these categories.

    Args:
        name: `"headcats"`: each category in the colour of the suite.
        categories: Name -> colour, in order, as `category_colours` returns them.

    Raises:
        UnknownNameError: the message lists near matches and every palette.
        DataError: more categories than there are colours for.
    """
    if name not in _PALETTES:
        raise UnknownNameError(unknown_name_message("palette", name, _PALETTES))
    if len(categories) > MOST_CATEGORIES:
        raise DataError(
            f"Expected at most {MOST_CATEGORIES} categories, the number that colours can tell apart; "
            f"got {len(categories)}: {', '.join(categories)}. Draw a selection: `.sel(category=[...])`."
        )
    return _PALETTES[name](categories)


def category_colours(data: xr.Dataset) -> dict[str, str]:
    """Name -> colour of every category in the attribute `categories`, in its order.

    Raises:
        DataError: the attribute is missing or is not a JSON list of `{"name": ..., "colour": ...}`.
    """
    text: Any = data.attrs.get("categories")
    try:
        return {str(entry["name"]): str(entry["colour"]) for entry in json.loads(text)}
    except (TypeError, KeyError, ValueError):
        raise DataError(
            'Expected an attribute `categories`, a JSON list such as [{"name": "Knowledge", "colour": "#ff7f0e"}]; '
            f"got {text!r}. hc.score, hc.categorize and hc.overlap pass it on; set it again if an operation dropped it."
        ) from None


def _headcats(categories: dict[str, str]) -> Palette:
    return Palette(categories=dict(categories), counts={k: _COUNTS[k] for k in range(2, len(categories) + 1)})


_PALETTES = {"headcats": _headcats}
