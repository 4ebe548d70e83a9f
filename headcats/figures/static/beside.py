"""What stands beside the panels of a figure as SVG: the legend, and the bar of its colour scale."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import plotly.graph_objects as go

from headcats.figures.static.bars import hatch_svg
from headcats.figures.static.colours import css_colour, hex_of, scale_colours
from headcats.figures.static.symbols import look, outline
from headcats.figures.static.text import label_width, svg_text

_ROW, _FIRST, _SWATCH, _TEXT = 19, 15.6, 12, 40  # pixels: as plotly sets entries of 12 pixels
_STEPS = 64


def is_swatch(trace: Any) -> bool:
    """Whether a trace stands in the legend alone."""
    swatches = trace.type in ("bar", "scatter") and trace.showlegend and trace.x is not None
    return bool(swatches) and not isinstance(trace.x, dict) and list(trace.x) == [None]


def legend_svg(fig: go.Figure, *, text: str) -> Iterator[str]:
    """An entry for every swatch, from top to bottom; `text` is the colour of texts."""
    layout = fig.layout
    for row, trace in enumerate(filter(is_swatch, fig.data)):
        left, y = layout.legend.x * layout.width, (1 - layout.legend.y) * layout.height + _FIRST + _ROW * row
        marker = trace.marker
        if trace.type == "bar":
            box = (left + 20 - _SWATCH / 2, y - _SWATCH / 2, _SWATCH, _SWATCH)
            colour = css_colour(marker.pattern.bgcolor or marker.color)
            edge = f' stroke="{marker.line.color}" stroke-width="{marker.line.width:g}"' if marker.line.width else ""
            place = f'x="{box[0]:.2f}" y="{box[1]:.2f}" width="{_SWATCH}" height="{_SWATCH}"'
            yield f'<rect {place} fill="{colour}"{edge}/>'
            if marker.pattern.shape:
                yield hatch_svg(box, str(marker.pattern.fgcolor))
        else:
            drawn = look(marker.symbol, colour=marker.color, edge=marker.color, width=0)
            yield f'<path d="{outline(marker.symbol, (left + 20, y), marker.size)}" {drawn}/>'
        yield svg_text(trace.name, (left + _TEXT, y), size=layout.legend.font.size, colour=text, valign="middle")


def colour_bar_svg(fig: go.Figure, *, text: str) -> Iterator[str]:
    """The bar of the figure's colour scale; nothing for a figure without one. `text` is the colour of texts."""
    axis, layout = fig.layout.coloraxis, fig.layout
    bar = axis.colorbar
    if bar.len is None:
        return
    left, top = bar.x * layout.width, (1 - bar.y) * layout.height
    colours = scale_colours(np.linspace(axis.cmax, axis.cmin, _STEPS), axis.colorscale, (axis.cmin, axis.cmax))
    high = bar.len / _STEPS
    for place, colour in enumerate(colours):
        # A little over the next one: no gap shows between them at any zoom.
        corner = f'x="{left:.2f}" y="{top + place * high:.2f}"'
        yield f'<rect {corner} width="{bar.thickness}" height="{high + 0.3:.2f}" fill="{hex_of(colour.tolist())}"/>'
    widest = max(label_width(label, bar.tickfont.size) for label in bar.ticktext)
    for value, label in zip(bar.tickvals, bar.ticktext, strict=True):
        y = top + bar.len * (axis.cmax - value) / (axis.cmax - axis.cmin)
        yield svg_text(label, (left + bar.thickness + 4, y), size=bar.tickfont.size, colour=text, valign="middle")
    if name := bar.title.text:
        at = (left + bar.thickness + 12 + widest, top + bar.len / 2)
        yield svg_text(name, at, size=bar.title.font.size, colour=text, anchor="center", valign="middle", angle=90)
