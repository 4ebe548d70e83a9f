"""The overlap map as one large panel: stripes, dashes, open cells, views."""

import functools
import itertools
from collections.abc import Iterable
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest
import xarray as xr
from figures.examples import ICL, mixed_overlap, overlap_of
from figures.reading import traces

from headcats.base.errors import DataError
from headcats.figures import data, overlap_map
from headcats.figures.hero_map import hero_panel

# Categories x layers x heads. L0H0: Algorithmic; L0H1: Algorithmic and Knowledge; L1H0: Knowledge, and undecided in
# Algorithmic; L1H1: undecided in both.
MEMBER = np.array([[[1, 1], [0, 0]], [[-1, 1], [1, 0]]])
TWO = {name: ICL[name] for name in ("Algorithmic", "Knowledge")}


def by_hand(**more: np.ndarray) -> xr.Dataset:
    return overlap_of(MEMBER, categories=TWO).assign(
        {name: (("category", "layer", "head"), values) for name, values in more.items()}
    )


@functools.cache
def drawn() -> go.Figure:
    """Read-only."""
    return overlap_map(by_hand(), layout="hero")


def of_view(view: str, **more: np.ndarray) -> list[Any]:
    """Traces of a view of the panel that pages draw."""
    grid = hero_panel(by_hand(**more))
    return list(itertools.compress(grid.traces, grid.views[view]))


def boxes(drawn: Iterable[Any], name: str) -> list[tuple[float, float, float, float]]:
    """Left, right, top and bottom of the rectangles of that name, in cells."""
    rectangles = []
    for trace in drawn:
        if trace.type == "scatter" and trace.mode == "lines" and trace.name == name:
            for corners in np.stack([trace.x, trace.y], axis=1).reshape(-1, 6, 2):
                (left, top), (right, bottom) = corners[0], corners[2]
                rectangles.append(tuple(round(float(value), 1) for value in (left, right, top, bottom)))
    return sorted(set(rectangles))


def test_a_head_of_several_categories_has_a_stripe_of_each() -> None:
    fig = drawn().data
    assert boxes(fig, "Algorithmic") == [(-0.5, 0.0, 0.5, 1.5), (-0.5, 0.5, -0.5, 0.5)]
    assert boxes(fig, "Knowledge") == [(0.0, 0.5, 0.5, 1.5), (0.5, 1.5, -0.5, 0.5)]
    looks = {trace.name: trace.fillcolor for trace in fig if trace.type == "scatter" and trace.fill}
    assert looks == TWO


def test_a_view_shows_the_heads_of_one_category_whole() -> None:
    fig = of_view("Algorithmic")
    assert boxes(fig, "Algorithmic") == [(-0.5, 0.5, -0.5, 0.5), (-0.5, 0.5, 0.5, 1.5)]
    assert boxes(fig, "Knowledge") == boxes(of_view("Knowledge"), "Algorithmic") == []
    for name in TWO:
        assert boxes(of_view("All Categories"), name) == boxes(drawn().data, name)


def test_heads_undecided_in_all_their_categories_are_open() -> None:
    fig = drawn().data
    assert len(boxes(fig, "undecided")) == 1
    assert boxes(fig, "undecided")[0][0] > 0.4
    assert boxes(fig, "undecided")[0][2] > 0.4  # L1H1
    # In its own view a category's undecided head is open although it is in another category.
    assert len(boxes(of_view("Algorithmic"), "undecided")) == 2
    assert all(trace.fill is None for trace in fig if trace.name == "undecided" and trace.mode == "lines")


def test_memberships_that_resampling_does_not_settle_are_dashed() -> None:
    sure = np.ones((2, 2, 2))
    assert boxes(overlap_map(by_hand(probability=sure), layout="hero").data, "unsure") == []
    unsure = sure.copy()
    unsure[0, 0, 1] = 0.79
    unsure[1, 1, 1] = 0.5  # not a member
    fig = overlap_map(by_hand(probability=unsure), layout="hero")
    for view, n in (("All Categories", 1), ("Algorithmic", 1), ("Knowledge", 0)):
        assert len(boxes(of_view(view, probability=unsure), "unsure")) == n
    assert {trace.line.dash for trace in fig.data if trace.name == "unsure"} == {None, "4px,4px"}
    legends = [trace.name for trace in fig.data if trace.showlegend]
    assert legends == ["<b>A</b>lgorithmic", "<b>K</b>nowledge", "unsure", "undecided"]


def test_letters_stand_in_the_stripes_of_their_categories() -> None:
    (letters,) = traces(drawn(), "letters")
    places = dict(zip(zip(np.round(letters.x, 2), np.round(letters.y), strict=True), letters.text, strict=True))
    assert places == {(0.0, 0.0): "A", (-0.25, 1.0): "A", (0.25, 1.0): "K", (1.0, 0.0): "K"}
    assert set(letters.textfont.color) == {"black", "white"}


def test_suppressing_heads_are_marked_in_their_view() -> None:
    marks = np.zeros((2, 2, 2))
    marks[1, 0, 0] = 1
    (trace,) = (trace for trace in of_view("Knowledge", suppressing=marks) if trace.name == "suppresses")
    assert (list(trace.x), list(trace.y)) == ([0], [0])
    assert "suppresses" not in [trace.name for trace in of_view("Algorithmic", suppressing=marks)]


def test_cells_are_large_in_a_window_of_1440_pixels() -> None:
    for (layers, heads), least in {(80, 64): 7, (12, 12): 30}.items():
        fig = overlap_map(mixed_overlap(layers, heads), layout="hero", title="A title")
        assert fig.layout.width <= 1440
        width = np.ptp(fig.layout.xaxis.domain) * fig.layout.width / layers
        height = np.ptp(fig.layout.yaxis.domain) * fig.layout.height / heads
        assert min(width, height) >= least - 1e-6


def test_any_number_of_categories_has_letters_and_views() -> None:
    many = {f"kind {i}": "#1f77b4" if i % 2 else "#ff7f0e" for i in range(12)}
    table = mixed_overlap(3, 3, categories=many)
    fig = overlap_map(table, layout="hero")
    assert len(hero_panel(table).views) == 13
    entries = [trace.name for trace in fig.data if trace.showlegend][:12]
    assert (entries[0], entries[-1]) == ("<b>a</b> kind 0", "<b>l</b> kind 11")
    with pytest.raises(DataError, match=r"8 categories.*hero"):
        overlap_map(table)


def test_the_numbers_are_those_of_the_row_of_panels_and_a_page_gets_the_panel_alone() -> None:
    assert data(drawn()).equals(data(overlap_map(by_hand(), layout="paper")))
    grid = hero_panel(by_hand())
    fig = grid.draw()
    assert not fig.layout.annotations
    assert not [trace for trace in fig.data if trace.showlegend]
    assert list(grid.views) == ["All Categories", *TWO]
