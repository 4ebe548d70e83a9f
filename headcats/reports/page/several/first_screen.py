"""What a reader of several runs sees first: what differs, what agrees, what moves, and the maps side by side."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import xarray as xr

from headcats.categories.outcome import IN, NOT_JUDGED, UNDECIDED, outcomes
from headcats.figures.colours import listed_colours
from headcats.figures.hero_map import hero_panel
from headcats.figures.overlap_rows import ALL
from headcats.figures.panels.grid import PanelGrid
from headcats.figures.panels.layout import WIDEST, Panel
from headcats.figures.panels.text import escaped
from headcats.reports.page.first_screen import Card, FirstScreen, MapShown
from headcats.reports.page.parts import Drawn
from headcats.reports.page.several.compared import Compared
from headcats.reports.text.comparison import agreeing, sureness
from headcats.results.finding import Finding, line
from headcats.results.head_axes import cell_name, unit_of

_UNTOLD = ("model weights_hash", "model device", "model source")
"""Fields that differ in every comparison of its kind, or say only where."""
_MOST_COLUMNS = 4
_AROUND, _BETWEEN = 80, 60  # pixels left and right of all panels, and of each for its numbers
_HIGH = {1: 430, 2: 260}
"""Rows of panels -> pixels of a panel's height."""


def first_screen(compared: Compared, *, with_toy: bool) -> FirstScreen:
    """The first screen; `with_toy` if a model is one that comes with headcats."""
    n = len(compared.runs)
    sure: tuple[Finding, ...] = ()
    if compared.runs.corresponds:
        headline = tuple(agreeing(compared.memberships, n_runs=n))
        sure = () if compared.changes is None else (sureness(compared.changes),)
    else:
        models = {run.manifest.model.weights_hash or run.manifest.model.name for run in compared.runs.values()}
        headline = (line("several.unlike", models=len(models)),)
    return FirstScreen(_ran(compared), headline, sure, tuple(_but(compared, with_toy)), (_shown(compared),))


def _ran(compared: Compared) -> Finding:
    runs = compared.runs
    models = [runs.model] if runs.is_training else list(dict.fromkeys(run.manifest.model.name for run in runs.values()))
    parts = [
        part.removeprefix("plan ").replace("_", " ")
        for part in runs.differences
        if part not in _UNTOLD and not (part == "model name" and len(models) > 1)
    ]
    differing = line("several.differing", parts=parts) if parts else line("plans.same")
    return line("several.ran", n=len(runs), models=models, names=list(runs), differing=differing)


def _but(compared: Compared, with_toy: bool) -> Iterator[Finding]:
    for name, reason in compared.left_out.items():
        yield line("several.left_out", name=name, reason=reason)
    for name, each in compared.maps.items():
        if each.not_judged:
            yield line("several.left_out", name=name, reason=each.not_judged)
    if with_toy:
        yield line("answer.bundled")


def _shown(compared: Compared) -> MapShown:
    overlaps, corresponds = compared.overlaps, compared.runs.corresponds
    colours = {
        name: colour for overlap in reversed(overlaps.values()) for name, colour in listed_colours(overlap).items()
    }
    categories = list(
        dict.fromkeys(name for overlap in overlaps.values() for name in overlap["category"].values.tolist())
    )
    figure, views = side_by_side(overlaps, categories=categories, corresponds=corresponds)
    heads: Literal["layer-head", ""] = "layer-head" if corresponds else ""
    hero = Drawn("runs_0", figure, line("several.figure"), heads)
    cards = tuple(Card(name, colours[name], "", (), 0, _about(overlaps, name)) for name in categories)
    return MapShown(compared.name, hero, views, cards, None)


def _about(overlaps: Mapping[str, xr.Dataset], category: str) -> Finding:
    of_runs = {
        name: outcomes(overlap.sel(category=category))
        for name, overlap in overlaps.items()
        if category in overlap["category"].values.tolist()
    }
    runs = [
        line("several.size", run=name, n=int((words == IN).sum()) if (words != NOT_JUDGED).any() else NOT_JUDGED)
        for name, words in of_runs.items()
    ]
    return line("several.card_sizes", runs=runs)


def side_by_side(
    overlaps: Mapping[str, xr.Dataset], *, categories: Sequence[str], corresponds: bool
) -> tuple[go.Figure, dict[str, list[bool]]]:
    """Draw one panel per run; also return which traces each view shows: all categories, or one of them."""
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
