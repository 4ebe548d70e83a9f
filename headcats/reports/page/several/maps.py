"""Maps of several runs as one figure, a panel for each, with one switch of category."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import xarray as xr

from headcats.categories.outcome import IN, NOT_JUDGED, UNDECIDED, outcomes
from headcats.figures.hero_map import hero_panel
from headcats.figures.overlap_rows import ALL
from headcats.figures.panels.grid import PanelGrid
from headcats.figures.panels.layout import WIDEST, Panel
from headcats.figures.panels.text import escaped
from headcats.results.head_axes import cell_name, unit_of

_MOST_COLUMNS = 4
_AROUND, _BETWEEN = 80, 60  # pixels left and right of all panels, and of each for its numbers
_HIGH = {1: 430, 2: 260}
"""Rows of panels -> pixels of a panel's height."""


def side_by_side(
    overlaps: Mapping[str, xr.Dataset], *, categories: Sequence[str], corresponds: bool
) -> tuple[go.Figure, dict[str, list[bool]]]:
    """One panel per run, and which traces each view shows: all categories, or one of them.

    Args:
        overlaps: Run -> what `hc.overlap` returns.
        categories: Those that have a view of their own.
        corresponds: Whether heads of the same name are the same head: then the pointer shows the head in all runs.
    """
    n = len(overlaps)
    columns = n if n < _MOST_COLUMNS else math.ceil(n / math.ceil(n / _MOST_COLUMNS)) if n > _MOST_COLUMNS else 2
    room = (WIDEST - _AROUND) // columns - _BETWEEN
    within = (room, _HIGH.get(math.ceil(n / columns), _HIGH[2]))
    grids = {name: hero_panel(overlap, within=within) for name, overlap in overlaps.items()}
    everywhere = _sets(overlaps)
    for name, grid in grids.items():
        of_run = _sets({name: overlaps[name]})
        _point(grid.traces[0], everywhere if corresponds else of_run)
        for trace in grid.traces[1:]:
            trace.update(hoverinfo="skip", hovertemplate=None)
    views = {view: [seen for grid in grids.values() for seen in _seen(grid, view)] for view in (ALL, *categories)}
    panels = _panels(grids)
    grid = PanelGrid(panels, pd.DataFrame(), columns=columns, least=0)
    for trace, seen in zip(grid.traces, views[ALL], strict=True):
        trace.visible = seen
    return grid.draw(), views


def _panels(grids: Mapping[str, PanelGrid]) -> list[Panel]:
    """Panels of one size, whatever the shapes of the models."""
    plots = [grid.panels[0].plots[0] for grid in grids.values()]
    size = (max(plot.size[0] for plot in plots), max(plot.size[1] for plot in plots))
    return [Panel(name, [replace(plot, size=size)]) for name, plot in zip(grids, plots, strict=True)]


def _seen(grid: PanelGrid, view: str) -> Sequence[bool]:
    """A category that a run does not have leaves the ground alone."""
    return grid.views.get(view, [True, *[False] * (len(grid.traces) - 1)])


def _sets(overlaps: Mapping[str, xr.Dataset]) -> dict[tuple[int, int], str]:
    """Layer and head -> its name and, run by run, the categories that it is in."""
    lines: dict[tuple[int, int], list[str]] = {}
    for name, overlap in overlaps.items():
        names = overlap["category"].values.tolist()
        words = outcomes(overlap).transpose("layer", "head", "category").to_numpy()
        inside, undecided, has_number = words == IN, words == UNDECIDED, words != NOT_JUDGED
        for i, layer in enumerate(overlap["layer"].values.tolist()):
            for j, head in enumerate(overlap["head"].values.tolist()):
                if has_number[i, j].any():
                    text = " + ".join(np.array(names)[inside[i, j]].tolist()) or "no category"
                    if undecided[i, j].any():
                        text += f" (undecided: {', '.join(np.array(names)[undecided[i, j]].tolist())})"
                    start = [f"<b>{cell_name(layer, head, unit_of(overlap))}</b>"]
                    lines.setdefault((layer, head), start).append(f"{escaped(name)}: {escaped(text)}")
    return {place: "<br>".join(of_head) for place, of_head in lines.items()}


def _point(ground: go.Heatmap, texts: Mapping[tuple[int, int], str]) -> None:
    """Set what the pointer shows of the cells of a panel."""
    grid = np.full(np.shape(ground.z), "", dtype=object)
    for (layer, head), text in texts.items():
        if head < grid.shape[0] and layer < grid.shape[1]:
            grid[head, layer] = text
    ground.update(customdata=None, hovertext=None, text=grid, hovertemplate="%{text}<extra></extra>")
