"""Contrast as WCAG 2.2 defines it, edges that give it to any colour, and colours that can be distinguished.

The rule for coloured cells: around each runs an edge, dark on bright colours and light on dark ones, of at least 3:1
with the colour inside. On light and on dark pages alike the colour or its edge is at least 3:1 with the ground of
unclassified heads; colours side by side have an edge between them. Cells below 6 pixels have no room for one.
"""

import functools
import itertools
from collections.abc import Mapping

LEAST = 3.0
"""Contrast of what has to be distinguished: WCAG 2.2, success criterion 1.4.11."""
LIGHT_GROUND, DARK_GROUND = "#e9ebee", "#212428"
"""Cells of unclassified heads on a light and on a dark page."""
EDGE, EDGE_OF_DARK = "#16181b", "#f5f6f8"
"""Around bright and around dark colours; the same on light and dark pages."""
_APART = 60
"""Distance, summed over red, green and blue, below which two colours are taken for one; 255 * 3 at most."""


def luminance(colour: str) -> float:
    """Relative luminance of `#rrggbb`, from 0 (black) to 1 (white)."""
    shares = [level / 255 for level in _levels(colour)]
    linear = [share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares]
    return sum(weight * share for weight, share in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one: str, other: str) -> float:
    """Ratio of two colours, from 1 to 21."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def edge_on(colour: str) -> str:
    """Colour of the line around an area: dark where the area stands out on a dark page by itself."""
    return EDGE if contrast(colour, DARK_GROUND) >= LEAST else EDGE_OF_DARK


def distinguishable_colours(colours: Mapping[str, str]) -> dict[str, str]:
    """Replace every colour that could be taken for an earlier one by the one farthest from all others."""
    return dict(zip(colours, _apart(tuple(colours.values())), strict=True))


@functools.lru_cache(maxsize=64)  # every figure of a page asks for those of the same few suites
def _apart(colours: tuple[str, ...]) -> tuple[str, ...]:
    chosen: list[str] = []
    for colour in colours:
        if any(_distance(colour, earlier) < _APART for earlier in chosen):
            taken = [*chosen, *colours, LIGHT_GROUND, DARK_GROUND]
            colour = max(_candidates(), key=lambda new: min(_distance(new, old) for old in taken))
        chosen.append(colour)
    return tuple(chosen)


def _candidates() -> list[str]:
    """216 colours, less those that are nearly black, white or grey."""
    levels = itertools.product(range(0, 256, 51), repeat=3)
    return ["#{:02x}{:02x}{:02x}".format(*each) for each in levels if max(each) - min(each) > 51]


def _distance(one: str, other: str) -> int:
    return sum(abs(a - b) for a, b in zip(_levels(one), _levels(other), strict=True))


def _levels(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)
