"""Traces of a figure as SVG, by their kinds."""

from collections.abc import Callable, Iterator
from typing import Any

import plotly.graph_objects as go

from headcats.figures.static.axes import Span
from headcats.figures.static.bars import bar_svg
from headcats.figures.static.cells import heatmap_svg, image_svg
from headcats.figures.static.scatter import scatter_svg

_KINDS: dict[str, Callable[[go.Figure, Any, Span, Span], Iterator[str]]] = {
    "heatmap": heatmap_svg,
    "image": image_svg,
    "scatter": scatter_svg,
    "bar": bar_svg,
}


def trace_svg(fig: go.Figure, trace: Any, x: Span, y: Span) -> str:
    """A trace over its axes; a `KeyError` for a kind that headcats does not draw."""
    marks = "".join(_KINDS[trace.type](fig, trace, x, y))
    return f'<g opacity="{trace.opacity:g}">{marks}</g>' if trace.opacity not in (None, 1) else marks
