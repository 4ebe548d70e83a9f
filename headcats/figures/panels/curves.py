"""The band between two curves."""

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float, Num

from headcats.figures.colours import FAINT


def band(
    x: Num[np.ndarray, " point"],
    low: Float[np.ndarray, " point"],
    high: Float[np.ndarray, " point"],
    *,
    name: str,
    opacity: float = 0.8,
) -> go.Scatter:
    """The area between two curves; of a single point, which has no area, a bar."""
    return go.Scatter(
        x=np.concatenate([x, x[::-1]]),
        y=np.concatenate([high, low[::-1]]),
        mode="lines",
        line={"color": FAINT, "width": 6 if len(x) == 1 else 0},
        fill="toself",
        fillcolor=FAINT,
        opacity=opacity,
        name=name,
    )
