"""Two scores in one colour, such as red = interference and green = facilitation: both add up, and black is neither."""

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float, UInt8

from headcats.figures.axes import Axis, Canvas, Panel, add_axes, add_text
from headcats.figures.colours import COLOUR_BLIND, ON_LIGHT, OUTLINE, check_palette

# Corner of the colour square -> (facilitation, interference).
CORNERS = {"both": (1.0, 1.0), "facilitation": (1.0, 0.0), "interference": (0.0, 1.0), "neither": (0.0, 0.0)}
# Palette -> red, green and blue of full interference and of full facilitation. Those of the second add up to white, and
# neither blindness to red, to green nor to blue brings any two of the four corners together.
_COLOURS = {"headcats": ((255, 0, 0), (0, 255, 0)), COLOUR_BLIND: ((255, 165, 0), (0, 90, 255))}
LEGEND = (150, 250)
"""Width and height in pixels of the legend."""

_SQUARE, _STEPS = 87, 28


def composite(
    facilitation: Float[np.ndarray, "y x"], interference: Float[np.ndarray, "y x"], *, palette: str = "headcats"
) -> UInt8[np.ndarray, "y x rgba"]:
    """Colours of heads; transparent where either score is NaN.

    Args:
        facilitation: 0 to 1.
        interference: 0 to 1.
        palette: `"headcats"`: interference red, facilitation green, both yellow; `"colour_blind"`: orange, blue, white.

    Raises:
        UnknownNameError: unknown palette.
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
    facilitation, interference = (np.array([[score]]) for score in CORNERS[name])
    return hex_colour(composite(facilitation, interference, palette=palette)[0, 0])


def add_colour_square(
    fig: go.Figure, *, canvas: Canvas, at: tuple[int, int], hatched_from: float, palette: str = "headcats"
) -> None:
    """A square of all colours with its two axes, and a legend entry for each of its corners.

    Args:
        fig: Changed in place.
        canvas: Its size.
        at: Upper left corner in pixels.
        hatched_from: Interference from which cells are hatched.
        palette: As `composite` takes it.
    """
    left, top = at[0] + 44, at[1] + 22
    places = [(0, "0"), (_STEPS // 2, "0.5"), (_STEPS, "1")]
    scale = Axis(_STEPS + 1, "facilitation", ticks=[place for place, _ in places], labels=[text for _, text in places])
    upwards = Axis(_STEPS + 1, "interference", ticks=scale.ticks, labels=scale.labels)
    panel = Panel(left=left, top=top, width=_SQUARE, height=_SQUARE)
    axes = add_axes(fig, panel, canvas=canvas, x=scale, y=upwards)
    add_text(fig, "Colours", canvas=canvas, at=(at[0], at[1] - 2), size=13)
    grid = np.linspace(0, 1, _STEPS + 1)
    # From top to bottom the rows of a picture follow its y axis, as cells of heads do.
    across, up = np.meshgrid(grid, grid)
    fig.add_trace(
        go.Image(z=composite(across, up, palette=palette), colormodel="rgba", hoverinfo="skip", name="colours", **axes)
    )
    for name, (_, interference) in CORNERS.items():
        colour = corner_colour(name, palette=palette)
        marker: dict[str, object] = {"color": colour, "line": {"color": OUTLINE, "width": 0.5}}
        if interference >= hatched_from:
            marker["pattern"] = {"shape": "/", "fgcolor": ON_LIGHT, "bgcolor": colour, "size": 5, "solidity": 0.2}
        fig.add_trace(go.Bar(x=[None], y=[None], name=name, marker=marker, showlegend=True, hoverinfo="skip"))
    fig.update_layout(
        legend={
            "x": canvas.x(at[0]),
            "y": canvas.y(top + _SQUARE + 40),
            "xanchor": "left",
            "yanchor": "top",
            "traceorder": "normal",
            "font": {"size": 12},
            "borderwidth": 0,
            "itemclick": False,
            "itemdoubleclick": False,
        }
    )
