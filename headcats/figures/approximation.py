"""Figures of effects that are first-order approximations say so: in the title, beside the pointer, in the numbers."""

import dataclasses
from typing import Any

from headcats.figures.panels.grid import PanelGrid
from headcats.figures.panels.text import escaped
from headcats.results.declaration import approximation_label


def marked_as_approximation(grid: PanelGrid, table: Any) -> PanelGrid:
    """The panels with the attribute `approximation` of their table told; unchanged for exact effects."""
    kind = getattr(table, "attrs", {}).get("approximation")
    if not kind:
        return grid
    label = approximation_label(table)
    title = grid.title
    if not title or label not in title:
        # First: the end of a long title may not fit above a small figure.
        start = escaped(f"{label[0].upper()}{label[1:]}")
        title = f"{start}: {title}" if title else start
    for trace in (trace for panel in grid.panels for plot in panel.plots for trace in plot.traces):
        if trace is not None and trace.hovertemplate:
            trace.hovertemplate = trace.hovertemplate.replace("<extra>", f"<br>{escaped(label)}: estimated<extra>")
    return dataclasses.replace(grid, title=title, frame=grid.frame.assign(approximation=kind))
