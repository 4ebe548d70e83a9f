"""A figure of headcats as SVG, without a browser."""

import html
import math
from collections.abc import Iterator
from typing import Any

import plotly.graph_objects as go

from headcats.errors import HeadcatsError
from headcats.figures.static.arrays import numbers
from headcats.figures.static.axes import axis_svg, spans
from headcats.figures.static.beside import colour_bar_svg, is_swatch, legend_svg
from headcats.figures.static.colours import css_colour
from headcats.figures.static.text import plain_text, svg_text
from headcats.figures.static.traces import trace_svg


def svg(fig: go.Figure) -> str | None:
    """The figure as it looks before anybody points at it; None for one that is not made of what headcats draws.

    Buttons above a figure are left out: the first view is shown.

    Args:
        fig: With a width and a height, and axes with ranges and domains, as the figures of headcats have them.
    """
    layout = fig.layout
    if not layout.width or not layout.height:
        return None
    try:
        content = "".join(_parts(fig))
    # A user's figure, of other traces or with axes, colours or places that plotly chooses in the browser.
    except (AttributeError, HeadcatsError, KeyError, TypeError, ValueError):
        return None
    width, height = int(layout.width), int(layout.height)
    name = html.escape(plain_text(layout.title.text or "figure"))
    family = html.escape(layout.font.family or "Arial, Helvetica, sans-serif")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'font-family="{family}" role="img" aria-label="{name}">'
        f'<rect width="{width}" height="{height}" fill="{css_colour(layout.paper_bgcolor)}"/>{content}</svg>'
    )


def _parts(fig: go.Figure) -> Iterator[str]:
    layout = fig.layout
    text = css_colour(layout.font.color)
    drawn = [trace for trace in _stacked(fig) if trace.visible in (None, True) and not is_swatch(trace)]
    for number in dict.fromkeys(_axes_of(trace) for trace in drawn):
        x, y = spans(fig, number)
        (left, right), (top, bottom) = x.ends, y.ends
        box = f'x="{left:.2f}" y="{top:.2f}" width="{right - left:.2f}" height="{bottom - top:.2f}"'
        yield f'<rect {box} fill="{css_colour(layout.plot_bgcolor)}"/>'
        yield from axis_svg(x, y, text=text)
        # What leaves a panel is cut off by a picture in the picture: a clip path needs a name, and several pictures of
        # one page would share it.
        panel = f'<svg {box} viewBox="{left:.2f} {top:.2f} {right - left:.2f} {bottom - top:.2f}">'
        for trace in drawn:
            if _axes_of(trace) == number:
                marks = trace_svg(fig, trace, x, y)
                free = trace.type == "scatter" and trace.cliponaxis is False
                yield marks if free or not marks else f"{panel}{marks}</svg>"
    if title := layout.title.text:
        # plotly sets a title a quarter of its size higher than other texts.
        at = (layout.title.x * layout.width, (1 - layout.title.y) * layout.height - layout.title.font.size / 4)
        yield svg_text(title, at, size=layout.title.font.size, colour=text)
    for note in layout.annotations:
        at = (note.x * layout.width, (1 - note.y) * layout.height)
        look = {"size": note.font.size, "colour": note.font.color or text}
        yield svg_text(note.text, at, anchor=note.xanchor or "left", valign=note.yanchor or "top", **look)
    yield from legend_svg(fig, text=text)
    yield from colour_bar_svg(fig, text=text)


def _axes_of(trace: Any) -> str:
    """Number of a trace's axes, "" for the first."""
    return str(trace.xaxis or "x")[1:]


def _stacked(fig: go.Figure) -> list[Any]:
    """The traces, bars of a stack with the base at which they stand."""
    traces, tops = [], dict[tuple[Any, ...], float]()
    for trace in fig.data:
        if trace.type == "bar" and fig.layout.barmode == "stack" and not is_swatch(trace):
            base = []
            for place, length in zip(numbers(trace.x).tolist(), numbers(trace.y).tolist(), strict=True):
                at = (trace.xaxis, place, length < 0)
                base.append(tops.get(at, 0.0))
                tops[at] = base[-1] + (0.0 if math.isnan(length) else length)
            trace = go.Bar(trace).update(base=base)
        traces.append(trace)
    return traces
