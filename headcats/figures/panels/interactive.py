"""Plotly figures of drawings.

The plotting area is the whole figure (no margins), so a place in pixels is a place in paper units and nothing moves
when a font or a title changes.
"""

from typing import Any

import plotly.graph_objects as go

from headcats.figures.colours import BACKGROUND, NO_VALUE, OUTLINE, QUIET_TEXT, TEXT
from headcats.figures.panels.axes import Axis, Scale
from headcats.figures.panels.colour_scale import BAR_WIDTH, ColourScale
from headcats.figures.panels.curves import hatched
from headcats.figures.panels.layout import TITLE_TOP, Drawing, Placed, Plot, Text
from headcats.figures.panels.legend import Entry, Legend
from headcats.figures.panels.text import EDGE, MEDIUM, SMALL, TITLE

_CORNER: dict[str, Any] = {"xanchor": "left", "yanchor": "top"}


def plotly_figure(drawing: Drawing) -> go.Figure:
    """Figure of a drawing, which it keeps (`drawing_of`).

    plotly checks traces and layout once, at the end: trace by trace and text by text takes several times as long.
    """
    traces: list[Any] = []
    layout = _page(drawing)
    links: dict[tuple[Any, ...], str] = {}
    for number, placed in enumerate(drawing.of_kind(Plot), start=1):
        axes = _axes(drawing, placed, str(number) if number > 1 else "", links)
        layout |= axes
        names = dict(zip(("xaxis", "yaxis"), (name.replace("axis", "") for name in axes), strict=True))
        traces += [_silent(trace).update(names) for trace in placed.part.traces]
    for placed in drawing.of_kind(Legend):
        traces += [_swatch(entry, text) for entry, text in placed.part.lines]
        # The entries explain colours; nothing would be hidden by clicking them.
        fixed = {"itemclick": False, "itemdoubleclick": False, "traceorder": "normal", "borderwidth": 0}
        layout["legend"] = _at(drawing, *placed.at) | _CORNER | fixed | {"font": {"size": MEDIUM}}
    for placed in drawing.of_kind(ColourScale):
        layout["coloraxis"] = _colour_axis(drawing, placed)
    layout["annotations"] = [_note(drawing, placed) for placed in drawing.of_kind(Text)]
    fig = go.Figure(traces, layout)
    # plotly figures refuse unknown public attributes and are not hashable, so the drawing rides on a private one.
    fig._headcats_drawing = drawing
    return fig


def drawing_of(fig: go.Figure) -> Drawing | None:
    """Drawing that a figure was made of; None for one that is not of panels, and for copies that plotly makes."""
    return getattr(fig, "_headcats_drawing", None)


def _at(drawing: Drawing, left: float, top: float) -> dict[str, Any]:
    """Paper x and y (0 to 1, from the bottom left) of a place in pixels."""
    return {"x": left / drawing.width, "y": 1 - top / drawing.height}


def _page(drawing: Drawing) -> dict[str, Any]:
    layout: dict[str, Any] = {
        "template": "none",
        "width": drawing.width,
        "height": drawing.height,
        # An invisible margin of 0 and no automatic growth: pixel places stay where they were computed.
        "margin": {"l": 0, "r": 0, "t": 0, "b": 0, "autoexpand": False},
        "font": {"family": "Arial, Helvetica, sans-serif", "size": MEDIUM, "color": TEXT},
        "paper_bgcolor": BACKGROUND,
        "plot_bgcolor": NO_VALUE if drawing.grey else BACKGROUND,
        "modebar": {"orientation": "h", "remove": ["select2d", "lasso2d", "autoScale2d", "sendChartToCloud"]},
        "hoverlabel": {"bgcolor": BACKGROUND, "bordercolor": OUTLINE, "font": {"color": TEXT}, "align": "left"},
        "barmode": "overlay",  # bars say themselves where they begin
    }
    if drawing.title is not None:
        place = _at(drawing, EDGE, TITLE_TOP) | _CORNER
        layout["title"] = {"text": drawing.title, "font": {"size": TITLE}, **place}
    return layout


def _axes(drawing: Drawing, placed: Placed, number: str, links: dict[tuple[Any, ...], str]) -> dict[str, Any]:
    """Layout of the two axes of a plot; those over the same cells show the same part of them, however one zooms."""
    (left, top), (width, height) = placed.at, placed.part.size
    start, stop = _at(drawing, left, top + height), _at(drawing, left + width, top)
    axes = {}
    for side, other, axis, named in (
        ("x", "y", placed.part.x, placed.named[0]),
        ("y", "x", placed.part.y, placed.named[1]),
    ):
        domain = {"domain": [start[side], stop[side]], "anchor": f"{other}{number}"}
        axes[f"{side}axis{number}"] = axis.layout(named=named) | _link(axis, f"{side}{number}", links) | domain
    return axes


def _link(axis: Axis | Scale, name: str, links: dict[tuple[Any, ...], str]) -> dict[str, str]:
    if isinstance(axis, Scale):
        return {}
    first = links.setdefault((name[0], axis.column, axis.n, axis.first, *axis.labels), name)
    return {} if first == name else {"matches": first}


def _silent(trace: Any) -> Any:
    """Keep a trace out of the legend, which is made of swatches, and from the pointer where no hover was written."""
    if isinstance(trace, go.Scatter | go.Bar):
        trace.showlegend = False
    return trace if trace.hovertemplate else trace.update(hoverinfo="skip")


def _swatch(entry: Entry, text: str) -> go.Bar | go.Scatter:
    common: dict[str, Any] = {"x": [None], "y": [None], "name": text, "showlegend": True, "hoverinfo": "skip"}
    if entry.symbol:
        return go.Scatter(mode="markers", marker={"symbol": entry.symbol, "size": 9, "color": entry.colour}, **common)
    marker: dict[str, Any] = {"color": entry.colour}
    if entry.outlined:
        marker["line"] = {"color": OUTLINE, "width": 0.5}
    if entry.hatch:
        marker["pattern"] = hatched(entry.colour, entry.hatch)
    return go.Bar(marker=marker, **common)


def _colour_axis(drawing: Drawing, placed: Placed) -> dict[str, Any]:
    scale: ColourScale = placed.part
    bar = _at(drawing, *placed.at) | _CORNER | {
        "xpad": 0, "ypad": 0, "outlinewidth": 0, "lenmode": "pixels", "len": placed.length, "thickness": BAR_WIDTH,
        "tickvals": scale.ticks, "ticktext": scale.labels, "tickfont": {"size": SMALL},
        "title": {"text": scale.name, "side": "right", "font": {"size": MEDIUM}},
    }  # fmt: skip
    return {"colorscale": scale.colours, "cmin": scale.ticks[0], "cmax": scale.ticks[-1], "colorbar": bar}


def _note(drawing: Drawing, placed: Placed) -> dict[str, Any]:
    text: Text = placed.part
    font = {"size": text.size, "color": QUIET_TEXT if text.quiet else TEXT}
    place = _at(drawing, *placed.at) | {"xref": "paper", "yref": "paper", "xanchor": text.anchor, "yanchor": "top"}
    return place | {"text": text.html, "showarrow": False, "align": "left", "borderpad": 0, "font": font}
