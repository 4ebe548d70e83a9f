"""Two scores in one colour: red = interference, green = facilitation, so yellow = both and black = neither."""

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float, UInt8

from headcats.figures.axes import Axis, Canvas, Panel, add_axes, add_text

# Corner of the colour square -> (facilitation, interference).
CORNERS = {"both": (1.0, 1.0), "facilitation": (1.0, 0.0), "interference": (0.0, 1.0), "neither": (0.0, 0.0)}
LEGEND = (150, 250)
"""Width and height in pixels of the legend."""

_SQUARE, _STEPS = 87, 28


def composite(
    facilitation: Float[np.ndarray, "y x"], interference: Float[np.ndarray, "y x"]
) -> UInt8[np.ndarray, "y x rgba"]:
    """Colours of heads; transparent where either score is NaN.

    Args:
        facilitation: 0 to 1.
        interference: 0 to 1.
    """
    missing = np.isnan(facilitation) | np.isnan(interference)
    levels = [np.rint(255 * np.clip(np.nan_to_num(score), 0, 1)) for score in (interference, facilitation)]
    blank = np.zeros(missing.shape)
    return np.stack([*levels, blank, np.where(missing, 0, 255)], axis=-1).astype(np.uint8)


def hex_colour(rgba: UInt8[np.ndarray, " rgba"]) -> str:
    """`#rrggbb`, or "" for a transparent one."""
    return "#{:02x}{:02x}{:02x}".format(*rgba[:3]) if rgba[3] else ""


def corner_colour(name: str) -> str:
    """Colour of a corner of the square, `#rrggbb`."""
    facilitation, interference = (np.array([[score]]) for score in CORNERS[name])
    return hex_colour(composite(facilitation, interference)[0, 0])


def add_colour_square(fig: go.Figure, *, canvas: Canvas, at: tuple[int, int], hatched_from: float) -> None:
    """A square of all colours with its two axes, and a legend entry for each of its corners.

    Args:
        fig: Changed in place.
        canvas: Its size.
        at: Upper left corner in pixels.
        hatched_from: Interference from which cells are hatched.
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
    fig.add_trace(go.Image(z=composite(across, up), colormodel="rgba", hoverinfo="skip", name="colours", **axes))
    for name, (_, interference) in CORNERS.items():
        colour = corner_colour(name)
        marker: dict[str, object] = {"color": colour, "line": {"color": "#888888", "width": 0.5}}
        if interference >= hatched_from:
            marker["pattern"] = {"shape": "/", "fgcolor": "black", "bgcolor": colour, "size": 5, "solidity": 0.2}
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
