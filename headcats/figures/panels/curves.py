"""Lines, and curves over a number of heads: a line with marks and the band of random heads beside it."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Bool, Float, Num

from headcats.figures.colours import FAINT, TEXT

_MARK = 8  # pixels


def band(
    places: Num[np.ndarray, " k"],
    low: Float[np.ndarray, " k"],
    high: Float[np.ndarray, " k"],
    *,
    name: str,
    opacity: float = 0.8,
) -> go.Scatter:
    """Area between two curves; of a single place, which has no area, a bar."""
    return go.Scatter(
        x=np.concatenate([places, places[::-1]]),
        y=np.concatenate([high, low[::-1]]),
        mode="lines",
        line={"color": FAINT, "width": 6 if len(places) == 1 else 0},
        fill="toself",
        fillcolor=FAINT,
        opacity=opacity,
        name=name,
    )


def band_and_mean(
    places: Num[np.ndarray, " k"],
    low: Float[np.ndarray, " k"],
    high: Float[np.ndarray, " k"],
    mean: Float[np.ndarray, " k"],
    *,
    name: str,
) -> list[go.Scatter]:
    """Band from `low` to `high` and a dotted line for the mean; nothing without a place."""
    if not len(places):
        return []
    line = go.Scatter(
        x=places,
        y=mean,
        mode="lines+markers" if len(places) == 1 else "lines",
        line={"color": TEXT, "width": 1, "dash": "dot"},
        marker={"symbol": "line-ew", "size": _MARK, "line": {"color": TEXT, "width": 1}},
        name=name.partition(",")[0],
    )
    return [band(places, low, high, name=name), line]


def marked_line(
    places: Num[np.ndarray, " k"],
    values: Float[np.ndarray, " k"],
    *,
    look: tuple[str, str, str],
    name: str,
    is_open: Bool[np.ndarray, " k"] | None = None,
    every: int = 1,
    size: int = _MARK,
    hover: dict[str, Any],
) -> go.Scatter:
    """Line with a mark at each place, or each few; `look` is the colour of marks, their symbol, the line's dash."""
    colour, symbol, dash = look
    opened: Sequence[bool] = [False] * len(places) if is_open is None else is_open.tolist()
    return go.Scatter(
        x=places,
        y=values,
        mode="lines+markers",
        line={"color": TEXT, "width": 1.2, "dash": dash},
        marker={
            "symbol": [f"{symbol}-open" if empty else symbol for empty in opened],
            **({} if every == 1 else {"opacity": 1}),  # plotly's own for marks of several sizes is .7
            "size": size if every == 1 else [0 if place % every else size for place in range(len(places))],
            "color": [TEXT if empty else colour for empty in opened],
            "line": {"color": TEXT, "width": 0.8},
        },
        name=name,
        cliponaxis=False,
        **hover,
    )


def broken_lines(*points: tuple[Any, Any]) -> Float[np.ndarray, "xy point"]:
    """Coordinates of lines through the first, the second, ... of all `points`; NaN after each line."""
    sides = np.broadcast_arrays(*(side for point in points for side in point))
    nothing = np.full(sides[0].shape, np.nan)
    return np.array([np.stack([*sides[xy::2], nothing], axis=1).ravel() for xy in (0, 1)])
