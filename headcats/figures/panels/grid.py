"""The renderer of all figures: panels in rows, with their axes, names, caption, legend or colour bar.

A figure declares what its panels hold; where things stand, and how large they are, is decided here alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from headcats.figures.panels.axes import Axis
from headcats.figures.panels.canvas import Canvas
from headcats.figures.panels.colour_scale import ColourScale
from headcats.figures.panels.colour_square import ColourSquare
from headcats.figures.panels.layout import APART, WIDEST, Layout, Panel, arranged, name_size
from headcats.figures.panels.legend import Legend
from headcats.figures.panels.text import (
    EDGE,
    LARGE,
    MISSING,
    SMALL,
    TITLE,
    escaped,
    fold_caption,
    line_height,
    text_width,
)

_LEAST, _RIGHT, _BOTTOM = 720, 26, 12
_TITLE_ROOM, _CAPTION_LINE = 28, 18
_COLOUR_BAR, _LONGEST_BAR, _SHORTEST_BAR = 104, 600, 150  # width of a bar with its name, and its lengths


@dataclass(frozen=True)
class PanelGrid:
    """What a figure shows; `@figure` draws it."""

    panels: Sequence[Panel]
    frame: pd.DataFrame
    """The numbers behind the figure."""
    title: str | None = None
    caption: Sequence[str] = ()
    """Parts of the lines below the title, as HTML."""
    columns: int = 4
    """Most panels in a row."""
    one_row: bool = False
    """Whether all panels stand side by side, a legend after the first."""
    beside: ColourScale | ColourSquare | Legend | None = None
    """On the right."""
    grey: bool = False
    """Whether a panel is grey where nothing is drawn on it, as cells without a number are."""
    layout: Mapping[str, Any] = field(default_factory=dict)
    """Of plotly, such as how bars stand."""

    def draw(self) -> go.Figure:
        """The figure, as wide as its panels, its title and its caption need."""
        legend_within = self.one_row and isinstance(self.beside, Legend)
        beside = self._beside_size(0)
        places = arranged(
            self.panels,
            columns=len(self.panels) if self.one_row else self.columns,
            one_row=self.one_row,
            room=WIDEST - _RIGHT - (beside[0] + 18 if self.beside else 0),
            after_first=beside[0] + 10 if legend_within else 0,
        )
        title_width = min(WIDEST, 2 * EDGE + text_width(self.title or "", TITLE))
        bar_left = places.right + max(18, places.lean + 6)
        right = places.right if legend_within or not self.beside else bar_left + beside[0]
        width = max(right + _RIGHT, _LEAST, title_width)
        traces = [trace for panel in self.panels for plot in panel.plots for trace in plot.traces if trace is not None]
        parts = list(self.caption)
        if any(trace.name == MISSING for trace in traces) and not any(part.startswith("×") for part in parts):
            parts.append(f"× {MISSING}")
        caption = fold_caption(parts, width=width - 2 * EDGE)
        caption_top = 14 + (_TITLE_ROOM if self.title else 0)
        below_caption = caption_top + _CAPTION_LINE * len(caption) + 8
        top = below_caption + places.corners[0][1]
        bar = self._beside_size(places.last_row_bottom - places.corners[0][1])
        height = max(below_caption + places.bottom, top + bar[1]) + _BOTTOM

        canvas = Canvas(width, height, title=self.title, grey=self.grey)
        for i, line in enumerate(caption):
            canvas.write(line, at=(EDGE, caption_top + _CAPTION_LINE * i), quiet=True)
        for place in range(len(self.panels)):
            self._draw_panel(canvas, place, places, below_caption)
        self._draw_beside(canvas, (places.legend_left if legend_within else bar_left, top), length=bar[1])
        canvas.fig.update_layout(**self.layout)
        return canvas.fig

    def _beside_size(self, length: int) -> tuple[int, int]:
        if isinstance(self.beside, ColourScale):
            return _COLOUR_BAR, max(_SHORTEST_BAR, min(length, _LONGEST_BAR))
        return self.beside.size if self.beside is not None else (0, 0)

    def _draw_beside(self, canvas: Canvas, at: tuple[int, int], *, length: int) -> None:
        if isinstance(self.beside, ColourScale):
            canvas.fig.update_layout(coloraxis=self.beside.axis(at=canvas.at(*at), length=length))
        elif isinstance(self.beside, ColourSquare):
            self.beside.add(canvas, at=at)
        elif self.beside is not None:
            self.beside.add(canvas.fig, at=canvas.at(at[0], at[1] - 4))

    def _draw_panel(self, canvas: Canvas, place: int, places: Layout, below_caption: int) -> None:
        panel, (left, top) = self.panels[place], places.corners[place]
        top += below_caption
        y = top - places.heading
        if places.starts_section[place] and panel.section:
            canvas.write(f"<b>{escaped(panel.section)}</b>", at=(EDGE, y - line_height(LARGE) - 4), size=LARGE)
        size = name_size(panel)
        lines = [(escaped(line), size) for line in places.names[place]] if panel.name else []
        # Names of one line stand beside the last line of longer ones.
        y += places.name_height - line_height(size) * len(lines)
        for text, size in [*lines, *((note, SMALL) for note in panel.notes)]:
            canvas.write(text, at=(left, y), size=size, quiet=size == SMALL)
            y += line_height(size)
        for i, plot in enumerate(panel.plots):
            last = i == len(panel.plots) - 1
            axis_names = (places.outer[place][0] and last, places.outer[place][1])
            axes = canvas.add_axes((left, top), plot.size, x=plot.x, y=plot.y, named=axis_names)
            for trace in plot.traces:
                if trace is not None:
                    canvas.fig.add_trace(_silent(trace).update(axes))
            top += plot.size[1] + APART
            if isinstance(plot.x, Axis) and plot.x.slanted and plot.x.name:
                canvas.write(plot.x.name, at=(left + plot.size[0] // 2, top - APART + 6), anchor="center")


def _silent(trace: Any) -> Any:
    """Without an entry in the legend, which is made of swatches, and without a hover where none was written."""
    if isinstance(trace, go.Scatter | go.Bar):
        trace.showlegend = False
    return trace if trace.hovertemplate else trace.update(hoverinfo="skip")
