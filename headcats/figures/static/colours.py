"""Colours as plotly writes them, and numbers as colours of a scale."""

import itertools
import re
from collections.abc import Iterable
from typing import Any

import numpy as np
import plotly.colors
from jaxtyping import Float, UInt8

from headcats.results.colour import as_hex

_RGB = re.compile(r"rgba?\(([^)]*)\)")
Rgba = tuple[int, int, int, int]


def rgba_of(colour: str) -> Rgba:
    """Red, green, blue and opacity, each from 0 to 255; a `DataError` for what is no colour."""
    if match := _RGB.fullmatch(colour.strip()):
        red, green, blue, *opacity = [float(part) for part in match[1].split(",")]
        return round(red), round(green), round(blue), round(255 * opacity[0]) if opacity else 255
    text = as_hex(colour, category="a figure")
    return int(text[1:3], 16), int(text[3:5], 16), int(text[5:7], 16), 255


def css_colour(colour: str) -> str:
    """As every program that reads SVG knows it."""
    red, green, blue, opacity = rgba_of(colour)
    return hex_of((red, green, blue)) if opacity == 255 else f"rgba({red},{green},{blue},{opacity / 255:.3f})"


def hex_of(rgba: Iterable[int]) -> str:
    """`#rrggbb` of the first three."""
    return "#" + "".join(f"{int(part):02x}" for part in itertools.islice(rgba, 3))


def scale_colours(
    values: Float[np.ndarray, "*shape"], scale: Any, ends: tuple[float, float]
) -> UInt8[np.ndarray, "*shape rgba"]:
    """Colours of numbers on a colour scale between two ends; NaN is transparent.

    Args:
        values: Numbers.
        scale: Name of a scale of plotly, or its stops: pairs of a place from 0 to 1 and a colour.
        ends: Numbers at the first and the last stop.
    """
    stops = plotly.colors.get_colorscale(scale) if isinstance(scale, str) else scale
    places = np.array([float(stop[0]) for stop in stops])
    colours = np.array([rgba_of(str(stop[1])) for stop in stops], dtype=np.float64)
    low, high = ends
    share = np.clip((values - low) / ((high - low) or 1.0), 0, 1)
    # Where two stops stand at one place the second one begins there, as plotly has it.
    places = places + 1e-9 * np.arange(len(places))
    shown = np.stack([np.interp(share, places, channel) for channel in colours.T], -1)
    shown[~np.isfinite(values)] = 0
    return np.rint(shown).astype(np.uint8)
