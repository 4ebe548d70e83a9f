"""One colour scale for all panels of a figure: signed around 0, rising from 0, or between declared ends."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from headcats.figures.colours import DIVERGING, ON_DARK, ON_LIGHT
from headcats.figures.panels.layout import Placed

_CLIP_QUANTILE = 0.99
# Ends of a scale in powers of ten -> step of its ticks: 3 to 6 ticks above 0, two digits each.
_ENDS = {1.0: 0.2, 1.2: 0.2, 1.5: 0.5, 2.0: 0.5, 2.5: 0.5, 3.0: 0.5, 4.0: 1.0, 5.0: 1.0, 6.0: 1.0, 8.0: 2.0}
_FEW = 100
# Plotly sets the name of a bar two pixels from the ticks' texts.
_APART = "\N{NO-BREAK SPACE}" * 2
BAR_WIDTH = 14  # pixels
_WIDTH, _LONGEST, _SHORTEST = 104, 600, 150  # pixels: width of a bar with its name, and its lengths


@dataclass(frozen=True)
class ColourScale:
    """Colours of numbers, and their bar."""

    colours: str  # name of plotly's colour scale
    ticks: tuple[float, ...]
    """Ticks from the smallest to the largest value with a colour of its own."""
    name: str  # written along the bar
    digits: int  # decimals of the ticks
    clipped: tuple[bool, bool] = (False, False)
    """True where values lie below the first and above the last tick, whose texts then say so."""

    @property
    def limit(self) -> float:
        """Largest value with a colour of its own."""
        return self.ticks[-1]

    @property
    def texts(self) -> list[str]:
        """Texts at the ticks."""
        texts = [f"{tick:.{self.digits}f}" for tick in self.ticks]
        texts[0] = f"≤ {texts[0]}" if self.clipped[0] else texts[0]
        texts[-1] = f"{texts[-1]}+" if self.clipped[1] else texts[-1]
        return texts

    @property
    def labels(self) -> list[str]:
        """Texts with room behind them, where the name of the bar would read as part of them."""
        return [text + _APART for text in self.texts]

    def ink(self, values: Any) -> np.ndarray:
        """Black or white for marks on cells of these values: diverging scales and Blues are dark at their ends."""
        low, high = self.ticks[0], self.ticks[-1]
        share = (np.asarray(values, dtype=float) - low) / (high - low)
        if self.colours == DIVERGING:
            dark = abs(2 * share - 1) > 0.55
        else:
            dark = share > 0.55 if self.colours == "Blues" else share < 0.6
        return np.where(dark, ON_DARK, ON_LIGHT)

    def size(self, length: int) -> tuple[int, int]:
        """Size as `Beside` says."""
        return _WIDTH, max(_SHORTEST, min(length, _LONGEST))

    def unmarked(self) -> "ColourScale":
        """Stay as it is, without marks to explain."""
        return self

    def placed(self, at: tuple[int, int], length: int) -> list[Placed]:
        """Place it as `Beside` says."""
        return [Placed(self, at, length)]


def signed_scale(effects: np.ndarray, *, name: str, quantile: float = _CLIP_QUANTILE) -> ColourScale:
    """Scale that is red below 0 and blue above, symmetric around 0.

    Its limit is a quantile of the absolute effects; their largest where that is 0 (few heads act); 1 where all are 0.
    """
    finite = effects[np.isfinite(effects)]
    size = np.abs(finite)
    limit = float(np.quantile(size, quantile)) if size.size else 0.0
    limit = limit or float(size.max(initial=0.0)) or 1.0
    clipped = bool((finite < -limit).any()), bool((finite > limit).any())
    ticks = (-limit, -limit / 2, 0.0, limit / 2, limit)
    return ColourScale(DIVERGING, ticks, name, digits=max(2, 1 - math.floor(math.log10(limit))), clipped=clipped)


def rising_scale(values: np.ndarray, *, colours: str, name: str, clip: float | None = None) -> ColourScale:
    """Scale from 0 to `clip`, or a limit of its own; four decimals, more where they would give two ticks the same text.

    The limit is the 99th percentile of the values above 0, rounded down to a whole number of ticks, so that the largest
    are clipped, or up where there are fewer than 100 (their percentile is their largest); 1 where none lies above 0.
    """
    finite = values[np.isfinite(values)]
    positive = finite[finite > 0]
    limit = clip if clip is not None else float(np.quantile(positive, _CLIP_QUANTILE)) if positive.size else 1.0
    magnitude = 10.0 ** math.floor(math.log10(limit) + 1e-9)
    # Of 10 as well, for limits that are rounded up.
    ends = [(end * magnitude, step * magnitude) for end, step in (*_ENDS.items(), (10.0, 2.0))]
    under = max(i for i, (end, _) in enumerate(ends) if end <= limit * (1 + 1e-9))
    step = ends[under][1]
    if clip is None:
        limit, step = ends[under + (positive.size < _FEW and not math.isclose(ends[under][0], limit))]
    ticks = [i * step for i in range(math.floor(limit / step + 1e-9) + 1)]
    if limit - ticks[-1] > 0.3 * step:
        ticks.append(limit)
    ticks[-1] = limit
    # A value that rounding alone puts beyond the limit is not clipped.
    clipped = bool((finite < 0).any()), bool((finite > limit * (1 + 1e-9)).any())
    return ColourScale(colours, tuple(ticks), name, max(4, math.ceil(-math.log10(step) - 1e-9)), clipped)
