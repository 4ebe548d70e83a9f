"""One colour scale for many panels: signed with 0 in the middle, or from one end to the other."""

import math

import numpy as np

from headcats.figures.colours import DIVERGING

CLIP_QUANTILE = 0.99
# Ends of a scale in powers of ten -> step of its ticks: 3 to 6 ticks above 0, two digits each.
_ENDS = {1.0: 0.2, 1.2: 0.2, 1.5: 0.5, 2.0: 0.5, 2.5: 0.5, 3.0: 0.5, 4.0: 1.0, 5.0: 1.0, 6.0: 1.0, 8.0: 2.0}
_FEW = 100
_APART = "\N{NO-BREAK SPACE}" * 2


def colour_limit(effects: np.ndarray) -> tuple[float, bool, bool]:
    """Symmetric limit of the colours, and whether effects lie below and above it.

    The 99th percentile of the absolute effects; their largest where that is 0 (few heads act); 1 where all are 0.
    """
    finite = effects[np.isfinite(effects)]
    size = np.abs(finite)
    limit = float(np.quantile(size, CLIP_QUANTILE)) if size.size else 0.0
    limit = limit or float(size.max(initial=0.0)) or 1.0
    return limit, bool((finite < -limit).any()), bool((finite > limit).any())


def signed_colour_axis(
    limits: tuple[float, bool, bool], *, at: tuple[float, float], length: int = 190, name: str | None = None
) -> dict[str, object]:
    """A plotly colour axis from `-limit` to `limit` whose bar hangs from `at`, clipped ends marked.

    Args:
        limits: As `colour_limit` returns them.
        at: Paper x and y of the bar's top left corner.
        length: Of the bar in pixels.
        name: Written along the bar, if at all.
    """
    limit, below, above = limits
    values = [-limit, -limit / 2, 0.0, limit / 2, limit]
    digits = max(2, 1 - math.floor(math.log10(limit)))
    texts = [f"{value:.{digits}f}" for value in values]
    texts[0] = f"≤ {texts[0]}" if below else texts[0]
    texts[-1] = f"{texts[-1]}+" if above else texts[-1]
    bar = _bar(values, texts, at=at, length=length, name=name)
    return {"colorscale": DIVERGING, "cmin": -limit, "cmax": limit, "colorbar": bar}


def rising_limit(shown: np.ndarray, *, clip: float | None = None) -> tuple[float, float, bool, bool]:
    """Limit of a scale that starts at 0, its tick step, and whether values lie below 0 and beyond the limit.

    Args:
        shown: Values of all panels.
        clip: The limit, if it is given; otherwise the 99th percentile of the values above 0, rounded down to a whole
            number of ticks, so that the largest are clipped, or up where there are fewer than 100 (their percentile is
            their largest); 1 where none lies above 0.
    """
    finite = shown[np.isfinite(shown)]
    above_zero = finite[finite > 0]
    limit = clip if clip is not None else float(np.quantile(above_zero, CLIP_QUANTILE)) if above_zero.size else 1.0
    magnitude = 10.0 ** math.floor(math.log10(limit) + 1e-9)
    # Of 10 as well, for limits that are rounded up.
    ends = [(end * magnitude, step * magnitude) for end, step in (*_ENDS.items(), (10.0, 2.0))]
    under = max(i for i, (end, _) in enumerate(ends) if end <= limit * (1 + 1e-9))
    exact = math.isclose(ends[under][0], limit)
    if clip is None:
        limit, step = ends[under + (above_zero.size < _FEW and not exact)]
    else:
        step = ends[under][1]
    # A value that rounding alone puts beyond the limit is not clipped.
    return limit, step, bool((finite < 0).any()), bool((finite > limit * (1 + 1e-9)).any())


def rising_colour_axis(
    limits: tuple[float, float, bool, bool], *, colours: str, at: tuple[float, float], length: int, name: str
) -> dict[str, object]:
    """A plotly colour axis from 0 to a limit with a named bar; four decimals, the last tick with "+" where clipped.

    Args:
        limits: As `rising_limit` returns them.
        colours: Name of plotly's colour scale.
        at: Paper x and y of the bar's top left corner.
        length: Of the bar in pixels.
        name: Written along the bar.
    """
    limit, step, below, above = limits
    values = [i * step for i in range(math.floor(limit / step + 1e-9) + 1)]
    if limit - values[-1] > 0.3 * step:
        values.append(limit)
    values[-1] = limit
    # More decimals only where four would give two ticks the same text.
    digits = max(4, math.ceil(-math.log10(step) - 1e-9))
    texts = [f"{value:.{digits}f}" for value in values]
    texts[0] = f"≤ {texts[0]}" if below else texts[0]
    texts[-1] = f"{texts[-1]}+" if above else texts[-1]
    bar = _bar(values, texts, at=at, length=length, name=name)
    return {"colorscale": colours, "cmin": 0.0, "cmax": limit, "colorbar": bar}


def fixed_colour_axis(
    ends: tuple[float, float],
    *,
    clipped: tuple[bool, bool],
    colours: str,
    at: tuple[float, float],
    length: int,
    name: str,
    steps: int = 5,
) -> dict[str, object]:
    """A plotly colour axis with declared ends; the texts of ends that values lie beyond say so.

    Args:
        ends: Smallest and largest value with a colour of its own.
        clipped: Whether values lie below and above them.
        colours: Name of plotly's colour scale.
        at: Paper x and y of the bar's top left corner.
        length: Of the bar in pixels.
        name: Written along the bar.
        steps: Steps from tick to tick.
    """
    low, high = ends
    values = np.linspace(low, high, steps + 1).tolist()
    texts = [f"{value:.1f}" for value in values]
    texts[0] = f"≤ {texts[0]}" if clipped[0] else texts[0]
    texts[-1] = f"{texts[-1]}+" if clipped[1] else texts[-1]
    bar = _bar(values, texts, at=at, length=length, name=name)
    return {"colorscale": colours, "cmin": low, "cmax": high, "colorbar": bar}


def _bar(
    values: list[float], texts: list[str], *, at: tuple[float, float], length: int, name: str | None = None
) -> dict[str, object]:
    bar: dict[str, object] = {
        "x": at[0],
        "y": at[1],
        "xanchor": "left",
        "yanchor": "top",
        "xpad": 0,
        "ypad": 0,
        "lenmode": "pixels",
        "len": length,
        "thickness": 14,
        "outlinewidth": 0,
        "tickvals": values,
        "ticktext": texts,
        "tickfont": {"size": 11},
    }
    if name is not None:
        # Plotly sets the name two pixels from the ticks' texts, where it reads as part of them.
        bar["ticktext"] = [f"{text}{_APART}" for text in texts]
        bar["title"] = {"text": name, "side": "right", "font": {"size": 12}}
    return bar
