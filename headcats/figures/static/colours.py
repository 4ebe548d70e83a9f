"""Numbers as colours of a scale."""

from typing import Any

import numpy as np
import plotly.colors
from jaxtyping import Float, UInt8

from headcats.figures.panels.colour_scale import ColourScale
from headcats.results.colour import as_hex


def scale_colours(
    values: Float[np.ndarray, "*shape"], scale: Any, ends: tuple[float, float]
) -> UInt8[np.ndarray, "*shape rgba"]:
    """Colours of numbers on a scale (its name, or stops from 0 to 1) between two `ends`; NaN is transparent."""
    stops = plotly.colors.get_colorscale(scale) if isinstance(scale, str) else scale
    # Where two stops stand at one place the second one begins there, as plotly has it.
    places = np.array([float(place) for place, _ in stops]) + 1e-9 * np.arange(len(stops))
    colours = [[*bytes.fromhex(as_hex(colour, category="a figure")[1:]), 255] for _, colour in stops]
    low, high = ends
    share = np.clip((values - low) / ((high - low) or 1.0), 0, 1)
    rgba = np.stack([np.interp(share, places, channel) for channel in zip(*colours, strict=True)], -1)
    rgba[~np.isfinite(values)] = 0
    return np.rint(rgba).astype(np.uint8)


def figure_colours(values: Float[np.ndarray, "*shape"], scale: ColourScale | None) -> UInt8[np.ndarray, "*shape rgba"]:
    """Colours of numbers on the scale of the figure; a `ValueError` where it has none, and plotly makes one up."""
    if scale is None:
        raise ValueError("The figure has no colour scale.")
    return scale_colours(values, scale.colours, (scale.ticks[0], scale.ticks[-1]))
