"""Every figure in the shapes of real models, and in odd ones: in a browser nothing overlaps, nothing is cut off."""

from collections.abc import Iterator
from itertools import cycle
from pathlib import Path

import numpy as np
import plotly.graph_objects as go
import pytest
import xarray as xr
from figures.chromium import measure, overlapping
from figures.examples import ICL, mixed_overlap, scores_of
from figures.registered import EXAMPLES, FIGURES, TURNED
from playwright.sync_api import Browser
from simulated import block

import headcats.figures
from headcats.figures.colours import MOST_CATEGORIES
from headcats.scores.scoring import score

GRIDS = ((1, 1), (12, 12), (32, 32), (80, 64), (96, 2))
"""Layers and heads."""
# What the default layout is not: figures drawn with the axes of their paper, and the map that fills a screen.
OTHER_LAYOUT = {"overlap_map": "hero"} | dict.fromkeys(TURNED, "paper")
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
    overlap = mixed_overlap(12, 12, categories=colours)
    if n <= MOST_CATEGORIES:
        yield from _layouts("overlap_map", overlap)
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


def page_of(figures: dict[str, go.Figure]) -> str:
    """One page with all of them below each other."""
    parts = [
        fig.to_html(full_html=False, include_plotlyjs=number == 0, div_id=name)
        for number, (name, fig) in enumerate(figures.items())
    ]
    body = "\n".join(parts)
    return f"<!doctype html><html><head></head><body style='margin: 0'><main>{body}</main></body></html>"


@pytest.mark.parametrize("name", [name for name, _ in gallery()])
def test_every_figure_is_legible(name: str, browser: Browser, tmp_path: Path) -> None:
    drawn = dict(dict(gallery())[name])
    page = tmp_path / "figures.html"
    page.write_text(page_of(drawn), encoding="utf-8")
    height = sum(int(fig.layout.height) for fig in drawn.values())
    seen = measure(browser, page, size=(1400, height))
    assert seen["problems"] == []
    assert seen["requests"] == []
    assert set(seen["figures"]) == set(drawn)
    for name, box in seen["figures"].items():
        texts = [text for text in seen["texts"] if text["figure"] == name]
        assert any(text["text"].startswith("A title") for text in texts), name
        assert overlapping(texts) == [], name
        for first, last in (("left", "right"), ("top", "bottom")):
            cut = [t["text"] for t in texts if t[first] < box[first] - 0.5 or t[last] > box[last] + 0.5]
            assert cut == [], name
        assert min(text["size"] for text in texts) >= 9, name
