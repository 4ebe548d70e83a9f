"""Lines, curves with marks, and bars of heads, undecided ones hatched."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Bool, Float, Num

from headcats.figures.colours import FAINT, HATCH, TEXT

_SPACING = 8  # pixels between two lines of hatching, where cells are large enough


def marked_line(
    places: Num[np.ndarray, " k"],
    values: Float[np.ndarray, " k"],
    *,
    look: tuple[str, str, str],
    name: str,
    is_open: Bool[np.ndarray, " k"],
    size: int,
    hover: dict[str, Any],
) -> go.Scatter:
    """Line with a mark of `size` pixels at each place; `look` is the colour of marks, their symbol, the line's dash."""
    colour, symbol, dash = look
    return go.Scatter(
        x=places,
        y=values,
        mode="lines+markers",
        line={"color": TEXT, "width": 1.2, "dash": dash},
        marker={
            "symbol": [f"{symbol}-open" if empty else symbol for empty in is_open],
            "size": size,
            "color": [TEXT if empty else colour for empty in is_open],
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


def runs(mask: Any) -> Iterator[tuple[int, int]]:
    """First place of every run of True, and the place behind its last."""
    edges = np.diff(np.concatenate([[0], np.asarray(mask, dtype=np.int8), [0]]))
    return zip(np.flatnonzero(edges == 1).tolist(), np.flatnonzero(edges == -1).tolist(), strict=True)


def hatch_lines(mask: Bool[np.ndarray, "head layer"], *, cell: tuple[float, float]) -> Float[np.ndarray, "xy point"]:
    """Line segments "/" over the cells of a mask, at least one through every cell, separated by NaN.

    Cells are centred on their index, and large ones (`cell`: width and height in pixels) get several lines. Segments
    that continue each other are joined, so a fully hatched 80 x 64 panel is 143 lines.
    """
    per_x, per_y = (max(1, round(size / _SPACING)) for size in cell)
    fine = np.kron(mask, np.ones((per_y, per_x), dtype=bool)).astype(bool)
    rows, columns = fine.shape
    segments: list[tuple[int, int, int, int]] = []
    # "/" steps one row up for each column to the right: such cells share row + column, the index of a diagonal of
    # the upside-down grid.
    for offset in range(-(rows - 1), columns):
        left, bottom = max(offset, 0), rows - max(-offset, 0)
        pieces = runs(np.diagonal(fine[::-1], offset))
        segments += [(left + start, left + stop, bottom - start, bottom - stop) for start, stop in pieces]
    x0, x1, y0, y1 = np.array(segments, dtype=float).reshape(-1, 4).T
    ends = (x0 / per_x - 0.5, y0 / per_y - 0.5), (x1 / per_x - 0.5, y1 / per_y - 0.5)
    return broken_lines(*ends).astype(np.float32)


def hatched(colour: str, lines: str) -> dict[str, Any]:
    """Diagonal lines on a bar or swatch, as plotly's `marker.pattern` takes them."""
    return {"shape": "/", "fgcolor": lines, "bgcolor": colour, "size": 5, "solidity": 0.2}


def stacked_bars(places: Any, counts: dict[str, Any], *, colour: str, **hover: Any) -> list[go.Bar]:
    """Bars, from below the numbers of heads that are sure and, grey and hatched, those that are undecided.

    `counts`: name of each of the two kinds -> its numbers, one per place.
    """
    sure, _ = counts.values()
    looks: list[dict[str, Any]] = [{"color": colour}, {"color": FAINT, "pattern": hatched(FAINT, HATCH)}]
    return [
        go.Bar(
            x=places, y=n, base=base, width=0.8, marker={**look, "line": {"color": TEXT, "width": 0.8}},
            name=name, textposition="none", **hover,
        )
        for (name, n), base, look in zip(counts.items(), (np.zeros(len(sure)), sure), looks, strict=True)
    ]  # fmt: skip
