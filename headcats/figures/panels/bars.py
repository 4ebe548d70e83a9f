"""Bars of heads: those that are sure below, and on top of them, hatched, the undecided ones."""

from typing import Any

import numpy as np
import plotly.graph_objects as go

from headcats.figures.colours import FAINT, HATCH, TEXT


def hatched(colour: str | list[str], lines: str | list[str], *, size: int = 5) -> dict[str, Any]:
    """Diagonal lines on a bar or swatch, or on each of several, as plotly's `marker.pattern` takes them."""
    return {"shape": "/", "fgcolor": lines, "bgcolor": colour, "size": size, "solidity": 0.2}


def stacked_bars(
    places: Any,
    counts: dict[str, Any],
    *,
    width: float,
    colour: str | list[str],
    undecided: str | list[str] = FAINT,
    ink: str | list[str] = HATCH,
    outline: float = 0.8,
    lines: int = 5,
    **hover: Any,
) -> list[go.Bar]:
    """Bars at `places`, of the numbers of heads that are sure and, on top, of those that are undecided.

    Args:
        places: Middle of each bar on the x axis.
        counts: Name of each of the two kinds -> its numbers of heads, from below.
        width: Of a bar, on the x axis.
        colour: Of the sure heads, for all bars or for each.
        undecided: Of the undecided ones.
        ink: Of the lines over these.
        outline: Width in pixels of the line around a bar.
        lines: Pixels from one line of the hatching to the next.
        hover: As `panels.text.hover` returns it.
    """
    sure, _ = counts.values()
    looks: list[dict[str, Any]] = [
        {"color": colour},
        {"color": undecided, "pattern": hatched(undecided, ink, size=lines)},
    ]
    return [
        go.Bar(
            x=places, y=n, base=base, width=width, marker={**look, "line": {"color": TEXT, "width": outline}},
            name=name, textposition="none", **hover,
        )
        for (name, n), base, look in zip(counts.items(), (np.zeros(len(sure)), sure), looks, strict=True)
    ]  # fmt: skip
