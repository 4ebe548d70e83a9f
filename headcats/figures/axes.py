"""Axes over layers and heads, and the placing of panels in pixels.

A figure's plotting area is the whole figure (no margins), so a place in pixels is a place in paper units and nothing
moves when a font or a title changes: panels, legend and titles keep the room that was set aside for them.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

from headcats.figures.colours import BACKGROUND, GRID, OUTLINE, QUIET_TEXT, TEXT, TICK

_TICK_ROOM = 15  # pixels between two labels of an axis
_ALL_NAMED = 16  # so many cells are all labelled; more labels than that are read as a texture


@dataclass(frozen=True)
class Panel:
    """A rectangle in pixels from the top left corner of the figure."""

    left: int
    top: int
    width: int
    height: int


@dataclass(frozen=True)
class Canvas:
    """A figure's size in pixels, and from it paper units (0 to 1, from the bottom left)."""

    width: int
    height: int

    def x(self, pixels: int) -> float:
        """Paper x of a distance from the left edge."""
        return pixels / self.width

    def y(self, pixels: int) -> float:
        """Paper y of a distance from the top edge."""
        return 1 - pixels / self.height


@dataclass(frozen=True)
class Axis:
    """What an axis over unit cells, centred on 0 .. n - 1, looks like."""

    n: int
    """Cells."""
    name: str
    """Written beside it; "" for none."""
    ticks: Sequence[int]
    """Cells that are numbered."""
    labels: Sequence[str] | None = None
    """Written at the ticks in place of their numbers."""
    reverse: bool = False
    """Whether cells run against the usual direction (y: cell 0 on top)."""
    side: str | None = None
    """Where it stands, if not below (x) or left of (y) its panel: "top"."""
    angle: int = 0
    """Of the labels, in degrees clockwise."""


@dataclass(frozen=True)
class Scale:
    """What an axis over numbers looks like; plotly chooses its ticks, with a light line at each."""

    low: float
    high: float
    name: str
    """Written beside it; "" for none."""
    format: str = ""
    """Of the ticks, as d3 writes it: "d" for whole numbers."""


def ticks(n: int) -> list[int]:
    """Tick values of an axis over `n` layers or heads: `arange(0, n + 1, n // 5)`, in steps of 1 below 5."""
    return list(range(0, n + 1, max(1, n // 5)))


def extent(n: int) -> tuple[float, float]:
    """Range of an axis over `n` unit cells centred on 0 .. n - 1.

    The tick at `n` itself, which `ticks` may hold, lies beyond it and is not drawn: blank room there would read as a
    layer without attention heads.
    """
    return -0.5, n - 0.5


def ticks_every(step: int, n: int, *, cell: int) -> list[int]:
    """Tick values in steps of `step`: 0, `step`, ... below `n`.

    Every cell of up to 16 is labelled where the labels have room (`cell`: pixels a layer or head). Where they have not,
    a grid too small for three ticks gets finer steps (every cell below 7 of them, else every second), and one whose
    labels would touch a multiple of the step.
    """
    if n <= _ALL_NAMED and cell >= _TICK_ROOM:
        step = 1
    elif n <= 2 * step:
        step = min(step, 1 if n < 7 else 2)
    if step * cell < _TICK_ROOM:
        step *= math.ceil(_TICK_ROOM / (step * cell))
    return list(range(0, n, step))


def new_figure(canvas: Canvas, *, title: str | None) -> go.Figure:
    """An empty figure of that size with the common fonts; `title` stands at the top left."""
    fig = go.Figure()
    fig.update_layout(
        template="none",
        width=canvas.width,
        height=canvas.height,
        # An invisible margin of 0 and no automatic growth: pixel places stay where they were computed.
        margin={"l": 0, "r": 0, "t": 0, "b": 0, "autoexpand": False},
        font={"family": "Arial, Helvetica, sans-serif", "size": 12, "color": TEXT},
        paper_bgcolor=BACKGROUND,
        plot_bgcolor=BACKGROUND,
        # Plotly's buttons stand in a column in the right margin, clear of titles. Selecting cells would do nothing, and
        # sharing would send the numbers to a server.
        modebar={"orientation": "v", "remove": ["lasso2d", "select2d", "autoScale2d", "sendChartToCloud"]},
        hoverlabel={"bgcolor": BACKGROUND, "bordercolor": OUTLINE, "font": {"color": TEXT}, "align": "left"},
    )
    if title is not None:
        fig.update_layout(
            title={
                "text": title,
                "x": canvas.x(16),
                "xanchor": "left",
                "y": canvas.y(12),
                "yanchor": "top",
                "font": {"size": 16},
            }
        )
    return fig


def add_panel(
    fig: go.Figure,
    panel: Panel,
    *,
    canvas: Canvas,
    n_layers: int,
    n_heads: int,
    names: tuple[bool, bool],
) -> dict[str, str]:
    """Add x (layer) and y (head, 0 on top) axes over a rectangle; returns the trace keywords `xaxis` and `yaxis`.

    Args:
        fig: Changed in place.
        panel: Where.
        canvas: Size of the figure.
        n_layers: Layers, counted from 0 up to the last one present.
        n_heads: Heads, likewise.
        names: Whether the axis names "layer" and "head" are written.
    """
    return add_axes(
        fig,
        panel,
        canvas=canvas,
        x=Axis(n_layers, "layer" if names[0] else "", ticks(n_layers)),
        y=Axis(n_heads, "head" if names[1] else "", ticks(n_heads), reverse=True),
    )


def add_axes(fig: go.Figure, panel: Panel, *, canvas: Canvas, x: Axis | Scale, y: Axis | Scale) -> dict[str, str]:
    """Add two axes over a rectangle; returns the trace keywords `xaxis` and `yaxis`.

    Args:
        fig: Changed in place.
        panel: Where.
        canvas: Size of the figure.
        x: Cells from left to right (with `reverse`, from right to left), or numbers.
        y: Cells from bottom to top (with `reverse`, cell 0 is on top), or numbers.
    """
    number = sum(1 for key in fig.layout if key.startswith("xaxis") and fig.layout[key].domain is not None) + 1
    suffix = "" if number == 1 else str(number)
    across = [canvas.x(panel.left), canvas.x(panel.left + panel.width)]
    upwards = [canvas.y(panel.top + panel.height), canvas.y(panel.top)]
    for letter, other, axis, domain in (("x", "y", x, across), ("y", "x", y, upwards)):
        drawn = _scale(axis) if isinstance(axis, Scale) else _axis(axis)
        fig.layout[f"{letter}axis{suffix}"] = drawn | {"domain": domain, "anchor": f"{other}{suffix}"}
    return {"xaxis": f"x{suffix}", "yaxis": f"y{suffix}"}


def _plain(name: str) -> dict[str, Any]:
    return {
        "showgrid": False,
        "zeroline": False,
        "showline": False,
        "ticks": "outside",
        "ticklen": 3,
        "tickcolor": TICK,
        "tickfont": {"size": 10},
        "title": {"text": name, "standoff": 4, "font": {"size": 12}},
    }


def _scale(scale: Scale) -> dict[str, Any]:
    return _plain(scale.name) | {
        "showgrid": True,
        "gridcolor": GRID,
        "zeroline": True,
        "zerolinecolor": TICK,
        "zerolinewidth": 1,
        "range": [scale.low, scale.high],
        "nticks": 5,
        "tickformat": scale.format,
    }


def _axis(axis: Axis) -> dict[str, Any]:
    low, high = extent(axis.n)
    layout = _plain(axis.name) | {
        "tickangle": axis.angle,
        "range": [high, low] if axis.reverse else [low, high],
        "tickvals": list(axis.ticks),
    }
    if axis.labels is not None:
        layout |= {"ticktext": list(axis.labels), "tickfont": {"size": 11}}
    if axis.side is not None:
        layout["side"] = axis.side
    return layout


def add_text(
    fig: go.Figure,
    text: str,
    *,
    canvas: Canvas,
    at: tuple[int, int],
    size: int = 12,
    anchor: str = "left",
    quiet: bool = False,
) -> None:
    """Write one line whose top (left, centre or right) is at `(x, y)` pixels from the top left corner."""
    fig.add_annotation(
        text=text,
        x=canvas.x(at[0]),
        y=canvas.y(at[1]),
        xref="paper",
        yref="paper",
        xanchor=anchor,
        yanchor="top",
        showarrow=False,
        align="left",
        borderpad=0,
        font={"size": size, "color": QUIET_TEXT if quiet else TEXT},
    )
