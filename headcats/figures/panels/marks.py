"""Figures with marks on their cells and words that explain them, or with colours alone, as most published ones.

A figure without marks tells by colour alone what others tell twice: it is made for a paper whose text explains it. What
the pointer shows, and the numbers, stay.
"""

from dataclasses import replace
from typing import Any

import plotly.graph_objects as go

from headcats.figures.colours import FRAME
from headcats.figures.panels.layout import Panel, Plot

MARKED, UNMARKED = "all", "none"
"""Values of the option `marks`: every mark of a figure; none."""


def unmarked(panel: Panel) -> Panel:
    """Leave a panel its name and the colours of its cells, without gaps between them; frames stay."""
    return replace(panel, notes=(), plots=[_coloured(plot) for plot in panel.plots])


def _coloured(plot: Plot) -> Plot:
    traces = [trace for trace in plot.traces if _is_coloured(trace)]
    for trace in traces:
        if isinstance(trace, go.Heatmap):
            trace.update(xgap=0, ygap=0)
    return replace(plot, traces=traces)


def _is_coloured(trace: Any) -> bool:
    """True if a trace colours cells or frames some of them, as the papers' figures do."""
    if isinstance(trace, go.Heatmap | go.Image):
        return True
    return isinstance(trace, go.Scatter) and trace.line.color == FRAME
