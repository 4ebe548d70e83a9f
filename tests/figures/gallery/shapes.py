"""Every figure in the shapes of real models, and in odd ones: synthetic tables with fixed seeds."""

from collections.abc import Iterator
from itertools import cycle

import numpy as np
import plotly.graph_objects as go
import xarray as xr
from figures.examples import ICL, mixed_overlap, scores_of
from figures.registered import EXAMPLES, FIGURES, TURNED
from simulated import block

import headcats.figures
from headcats.figures.colours import MOST_CATEGORIES
from headcats.scores.scoring import score

GRIDS = ((1, 1), (12, 12), (32, 32), (80, 64), (96, 2))
"""Layers and heads."""
# What the default layout is not: figures drawn with the axes of their paper, and the map that fills a screen.
OTHER_LAYOUT = {"overlap_map": "hero"} | dict.fromkeys(TURNED, "paper")
_OF_CATEGORIES = ("overlap_map", "set_counts", "layer_profile")
_COLOURS = ("#00a878", "#c1121f", "#ffd60a", "#003566", "#ff99c8", "#7209b7", "#4cc9f0")
Drawn = Iterator[tuple[str, go.Figure]]


def of_grid(n_layers: int, n_heads: int) -> Drawn:
    """Every figure in every layout for a model of so many layers and heads."""
    for name in FIGURES:
        table = EXAMPLES[name](n_layers, n_heads)
        yield from _layouts(name, table)


def of_categories(n: int) -> Drawn:
    """Figures of categories; the colours clash where there are more than seven."""
    colours = dict(zip([f"Category of kind {i + 1}" for i in range(n)], cycle(_COLOURS), strict=False))
    overlap = mixed_overlap(12, 12, categories=colours).assign(expected=("k", np.zeros(n)))
    for name in _OF_CATEGORIES:
        if n <= MOST_CATEGORIES:
            yield from _layouts(name, overlap)
    if n > MOST_CATEGORIES:
        yield f"overlap_map_of_{n}", headcats.figures.overlap_map(overlap, layout="hero", title="A title")


def of_tasks(n: int) -> Drawn:
    """Figures with a panel or a column per task."""
    tasks, draw = [f"a_task_of_usual_length_{i}" for i in range(n)], np.random.default_rng(0)
    belongs = np.sort(np.resize(list(ICL), n)).tolist()
    shape = (n, 12, 12)
    q_value = np.where(draw.random(shape) < 0.05, 0.001, 0.5)
    scores = scores_of(draw.normal(0, 0.1, shape), tasks=tasks, belongs=belongs, q_value=q_value)
    yield "head_grid", headcats.figures.head_grid(scores, title="A title")
    acting = 0.3 * (draw.random((len(ICL), 12, 12)) < 0.06)
    sweeps: dict[str, dict[str, xr.Dataset]] = {name: {} for name in ICL}
    for task, category in zip(tasks, belongs, strict=True):
        effect = acting[list(ICL).index(category)]
        sweeps[category][task] = block(draw.normal(effect, 0.1, (24, 12, 12)))
    yield "head_tasks", headcats.figures.head_tasks(score(sweeps), title="A title")


def gallery() -> Iterator[tuple[str, Drawn]]:
    """Name of a shape, and its figures by name."""
    for grid in GRIDS:
        yield "{}x{}".format(*grid), of_grid(*grid)
    for n in (7, 30):
        yield f"{n}_categories", of_categories(n)
    yield "60_tasks", of_tasks(60)


def _layouts(name: str, table: xr.Dataset) -> Drawn:
    draw = getattr(headcats.figures, name)
    yield name, draw(table, title="A title")
    if layout := OTHER_LAYOUT.get(name):
        yield f"{name}_{layout}", draw(table, layout=layout, title="A title")
