"""Two scores in one colour, such as red = interference and green = facilitation: both add up, and black is neither."""

from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float, UInt8

from headcats.figures.colours import COLOUR_BLIND, ON_LIGHT, check_palette
from headcats.figures.panels.axes import Axis
from headcats.figures.panels.layout import Canvas
from headcats.figures.panels.legend import Entry, Legend

# Corner of the colour square -> (facilitation, interference).
CORNERS = {"both": (1.0, 1.0), "facilitation": (1.0, 0.0), "interference": (0.0, 1.0), "neither": (0.0, 0.0)}
# Palette -> red, green and blue of full interference and of full facilitation. Those of the second add up to white, and
# neither blindness to red, to green nor to blue brings any two of the four corners together.
_COLOURS = {"headcats": ((255, 0, 0), (0, 255, 0)), COLOUR_BLIND: ((255, 165, 0), (0, 90, 255))}
_SQUARE, _STEPS = 87, 28
_LEFT, _TOP, _LEGEND = 44, 22, 44  # pixels left of and above the square, and from it to the legend


def composite(
    facilitation: Float[np.ndarray, "..."], interference: Float[np.ndarray, "..."], *, palette: str = "headcats"
) -> UInt8[np.ndarray, "... rgba"]:
    """Colours of heads with these scores (0 to 1); transparent where either is NaN.

    `"headcats"`: interference red, facilitation green, both yellow; `"colour_blind"`: orange, blue, white.
    """
    check_palette(palette)
    missing = np.isnan(facilitation) | np.isnan(interference)
    scores = np.stack([np.clip(np.nan_to_num(score), 0, 1) for score in (interference, facilitation)], axis=-1)
    levels = np.rint(scores @ np.array(_COLOURS[palette], dtype=scores.dtype)).clip(0, 255)
    opaque = np.where(missing, 0, 255)[..., None]
    return np.concatenate([levels, opaque], axis=-1).astype(np.uint8)


def hex_colour(rgba: UInt8[np.ndarray, " rgba"]) -> str:
    """`#rrggbb`, or "" for a transparent one."""
    return "#{:02x}{:02x}{:02x}".format(*rgba[:3]) if rgba[3] else ""


def corner_colour(name: str, *, palette: str = "headcats") -> str:
    """Colour of a corner of the square, `#rrggbb`."""
    return hex_colour(composite(*(np.array(score) for score in CORNERS[name]), palette=palette))


@dataclass(frozen=True)
class ColourSquare:
    """A square of all colours with its two axes, and a legend entry for each of its corners."""

    hatched_from: float
    """Interference from which cells are hatched."""
    palette: str = "headcats"

    def size(self, length: int) -> tuple[int, int]:
        """As `Beside` says; the same beside plots of any height."""
        return 150, 250

    def add(self, canvas: Canvas, *, at: tuple[int, int], length: int) -> None:
        """As `Beside` says."""
        labels = ["0", *[""] * (_STEPS // 2 - 1), "0.5", *[""] * (_STEPS // 2 - 1), "1"]
        across, upwards = (Axis(name, _STEPS + 1, name, labels=labels) for name in ("facilitation", "interference"))
        left, top = at[0] + _LEFT, at[1] + _TOP
        axes = canvas.add_axes((left, top), (_SQUARE, _SQUARE), x=across, y=upwards)
        canvas.write("Colours", at=(at[0], at[1] - 2), size=13)
        # From top to bottom the rows of a picture follow its y axis, as cells of heads do.
        colours = composite(*np.meshgrid(*[np.linspace(0, 1, _STEPS + 1)] * 2), palette=self.palette)
        canvas.fig.add_trace(go.Image(z=colours, colormodel="rgba", hoverinfo="skip", name="colours", **axes))
        hatches = {name: ON_LIGHT if CORNERS[name][1] >= self.hatched_from else "" for name in CORNERS}
        entries = [
            Entry(name, corner_colour(name, palette=self.palette), hatch, outlined=True)
            for name, hatch in hatches.items()
        ]
        Legend(entries).add(canvas, at=(at[0], top + _SQUARE + _LEGEND), length=length)
