"""One signed colour scale for many panels, with 0 in the middle."""

import math

import numpy as np

from headcats.figures.colours import DIVERGING

CLIP_QUANTILE = 0.99


def colour_limit(effects: np.ndarray) -> tuple[float, bool, bool]:
    """Symmetric limit of the colours, and whether effects lie below and above it.

    The 99th percentile of the absolute effects; their largest where that is 0 (few heads act); 1 where all are 0.
    """
    finite = effects[np.isfinite(effects)]
    size = np.abs(finite)
    limit = float(np.quantile(size, CLIP_QUANTILE)) if size.size else 0.0
    limit = limit or float(size.max(initial=0.0)) or 1.0
    return limit, bool((finite < -limit).any()), bool((finite > limit).any())


def signed_colour_axis(limits: tuple[float, bool, bool], *, at: tuple[float, float]) -> dict[str, object]:
    """A plotly colour axis from `-limit` to `limit` whose untitled bar hangs from `at`, clipped ends marked.

    Args:
        limits: As `colour_limit` returns them.
        at: Paper x and y of the bar's top left corner.
    """
    limit, below, above = limits
    values = [-limit, -limit / 2, 0.0, limit / 2, limit]
    digits = max(2, 1 - math.floor(math.log10(limit)))
    texts = [f"{value:.{digits}f}" for value in values]
    texts[0] = f"≤ {texts[0]}" if below else texts[0]
    texts[-1] = f"{texts[-1]}+" if above else texts[-1]
    bar = {
        "x": at[0],
        "y": at[1],
        "xanchor": "left",
        "yanchor": "top",
        "xpad": 0,
        "ypad": 0,
        "lenmode": "pixels",
        "len": 190,
        "thickness": 14,
        "outlinewidth": 0,
        "tickvals": values,
        "ticktext": texts,
        "tickfont": {"size": 11},
    }
    return {"colorscale": DIVERGING, "cmin": -limit, "cmax": limit, "colorbar": bar}
