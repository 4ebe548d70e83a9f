"""Cells and marks over them, so that colour is never the only cue: symbols, and crosses where there is no number."""

from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Bool, Shaped

from headcats.figures.colours import NO_VALUE, ON_DARK, ON_LIGHT, QUIET_TEXT

TINY = 6  # pixels below which a symbol no longer fits into its cell


def gap(cell: tuple[int, int]) -> int:
    """Pixels between two cells of that size."""
    smallest = min(cell)
    return 0 if smallest < TINY else 1 if smallest < 24 else 2


def heatmap(
    values: Shaped[np.ndarray, "y x"], *, cell: tuple[int, int], name: str, axes: dict[str, str], **hover: Any
) -> go.Heatmap:
    """Cells of one panel in the colours of the figure's shared colour axis; none where there is no number.

    Args:
        values: First axis = the panel's y axis.
        cell: Width and height of a cell in pixels.
        name: Of the trace.
        axes: The panel, as `add_axes` returns it.
        hover: `hovertemplate`, `customdata` and `text` as plotly takes them.
    """
    between = gap(cell)
    return go.Heatmap(
        z=values, x0=0, dx=1, y0=0, dy=1, coloraxis="coloraxis", xgap=between, ygap=between, hoverongaps=False,
        name=name, **hover, **axes,
    )  # fmt: skip


def add_cell_lines(fig: go.Figure, shape: tuple[int, int], *, cell: tuple[int, int], axes: dict[str, str]) -> None:
    """Light lines between the cells of a picture (`go.Image`), as wide as the gaps of `heatmap`, if any.

    Args:
        fig: Changed in place.
        shape: Cells of the panel along y and x.
        cell: Width and height of a cell in pixels.
        axes: The panel, as `add_axes` returns it.
    """
    width = gap(cell)
    if not width:
        return
    xs: list[float] = []
    ys: list[float] = []
    # A line of odd width on the border of two pixels would be smeared over both.
    across, down = (0.5 * (width % 2) / size for size in cell)
    for column in range(1, shape[1]):
        xs += [column - 0.5 + across] * 2 + [np.nan]
        ys += [-0.5, shape[0] - 0.5, np.nan]
    for row in range(1, shape[0]):
        xs += [-0.5, shape[1] - 0.5, np.nan]
        ys += [row - 0.5 + down] * 2 + [np.nan]
    line = {"color": NO_VALUE, "width": width}
    fig.add_trace(
        go.Scatter(x=xs, y=ys, mode="lines", line=line, hoverinfo="skip", showlegend=False, name="cell lines", **axes)
    )


def add_symbols(
    fig: go.Figure,
    where: Bool[np.ndarray, "y x"],
    *,
    name: str,
    marker: dict[str, Any],
    axes: dict[str, str],
) -> None:
    """Draw a symbol over every cell of a mask; nothing for an empty one.

    Args:
        fig: Changed in place.
        where: Cells, first axis = the panel's y axis.
        name: Of the trace.
        marker: As plotly takes it.
        axes: The panel, as `add_axes` returns it.
    """
    ys, xs = where.nonzero()
    if len(xs):
        fig.add_trace(
            go.Scatter(x=xs, y=ys, mode="markers", marker=marker, name=name, hoverinfo="skip", showlegend=False, **axes)
        )


def add_crosses(
    fig: go.Figure, missing: Bool[np.ndarray, "y x"], *, cell: tuple[int, int], axes: dict[str, str]
) -> None:
    """A thin cross on cells without a number; the panel's background makes them grey."""
    marker = {"symbol": "x-thin", "size": max(3.0, 0.4 * min(cell)), "line": {"color": QUIET_TEXT, "width": 1}}
    add_symbols(fig, missing, name="no value", marker=marker, axes=axes)


def contrast(shown: np.ndarray, *, dark_below: float) -> np.ndarray:
    """White on cells darker than others (values below a bound), black on the rest."""
    return np.where(shown < dark_below, ON_DARK, ON_LIGHT)
