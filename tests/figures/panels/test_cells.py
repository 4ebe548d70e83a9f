import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from headcats.figures.panels.axes import Axis
from headcats.figures.panels.cells import Cells, square_cells
from headcats.figures.panels.curves import hatch_lines
from headcats.figures.panels.text import hover

INDEX = st.lists(st.integers(0, 9), min_size=1, max_size=5, unique=True)


@given(INDEX, INDEX)
def test_every_value_keeps_its_own_place(layers: list[int], heads: list[int]) -> None:
    frame = pd.DataFrame([(layer, head) for layer in layers for head in heads], columns=["layer", "head"])
    frame["effect"] = np.arange(len(frame), dtype=np.float32)
    cells = Cells(Axis("layer", max(layers) + 1), Axis("head", max(heads) + 1, reverse=True), (5, 5))
    grid = cells.grid(frame, frame["effect"])
    assert grid.shape == (max(heads) + 1, max(layers) + 1)
    assert all(grid[row.head, row.layer] == row.effect for row in frame.itertuples())
    assert np.isnan(grid).sum() == grid.size - len(frame)


@given(
    arrays.arrays(bool, st.tuples(st.integers(1, 7), st.integers(1, 7))), st.sampled_from([(3, 3), (16, 16), (30, 7)])
)
def test_hatch_crosses_every_cell_of_the_mask_and_no_other(mask: np.ndarray, cell: tuple[int, int]) -> None:
    x, y = hatch_lines(mask, cell=cell)
    touched = np.zeros_like(mask)
    for left, right, low, high in zip(x[0::3], x[1::3], y[0::3], y[1::3], strict=True):
        assert left < right  # "/": up to the right, and heads count downwards
        assert low > high
        # Points well inside every piece of the line; 1000 is no multiple of the pieces.
        along = (np.arange(1000) + 0.5) / 1000
        touched[np.rint(low + along * (high - low)).astype(int), np.rint(left + along * (right - left)).astype(int)] = (
            True
        )
    np.testing.assert_array_equal(touched, mask)


@pytest.mark.parametrize("reverse", [True, False], ids=["downwards", "upwards"])
def test_hatching_is_on_its_cells_and_rises_to_the_right_on_screen(reverse: bool) -> None:
    frame = pd.DataFrame({"layer": [0, 1, 2], "head": [1, 0, 0]})
    cells = Cells(Axis("layer", 3), Axis("head", 2, reverse=reverse), (16, 16))
    lines = cells.hatching(frame, name="hatched")
    (x0, x1), (y0, y1) = ((ends[0::3], ends[1::3]) for ends in (lines.x, lines.y))
    assert (x0 < x1).all()
    assert (y0 > y1 if reverse else y0 < y1).all()
    along = (np.arange(100)[:, None] + 0.5) / 100  # no piece of a line ends between two of these
    columns, rows = np.rint(x0 + along * (x1 - x0)), np.rint(y0 + along * (y1 - y0))
    assert set(zip(columns.ravel(), rows.ravel(), strict=True)) == {(0, 1), (1, 0), (2, 0)}


def test_cells_have_gaps_where_there_is_room() -> None:
    assert Cells(Axis("layer", 17), Axis("head", 2), (20, 10)).gap == 0
    assert [Cells(Axis("layer", 3), Axis("head", 2), (side, 30)).gap for side in (6, 23, 24)] == [1, 1, 2]


def test_coloured_cells_have_an_edge_where_there_is_room() -> None:
    frame = pd.DataFrame({"layer": [0, 1], "head": [0, 0], "colour": ["#ffffff", "#000000"]})
    drawn = {side: Cells(Axis("layer", 2), Axis("head", 1), (side, side)).edges(frame, name="edge") for side in (5, 6)}
    assert (len(drawn[5]), len([trace for trace in drawn[6] if trace is not None])) == (0, 2)


def test_labels_place_rows_by_name() -> None:
    frame = pd.DataFrame({"role": ["b", "a"], "layer": [0, 1], "value": [1.0, 2.0]})
    cells = Cells(Axis("role", 2, labels=["a", "b"]), Axis("layer", 2, reverse=True), (5, 5))
    np.testing.assert_array_equal(cells.grid(frame, frame["value"]), [[np.nan, 1], [2, np.nan]])


@given(st.integers(1, 200), st.integers(1, 200))
def test_cells_are_square_unless_the_panel_would_be_too_small(n_x: int, n_y: int) -> None:
    width, height = square_cells(Axis("layer", n_x), Axis("head", n_y), within=(240, 240), least=(100, 72))
    assert width >= 3
    assert width * n_x >= 100
    assert height * n_y >= 72
    assert width == height or 100 <= width * n_x < 100 + n_x or 72 <= height * n_y < 72 + n_y


def test_hover_finds_columns_by_name() -> None:
    frame = pd.DataFrame({"layer": [0], "effect": [0.5], "low": [0.25], "who": ["L0H1"], "tasks": ["copy"]})
    shown = hover("%{who} at %{layer}: %{effect:.2f} from %{low:.1f}%{tasks}", frame, x="layer", z="effect")
    places = re.findall(r"%\{([^}]+)\}", shown["hovertemplate"])
    assert places == ["text", "x", "z:.2f", "customdata[0]:.1f", "hovertext"]
    assert (shown["text"].tolist(), shown["hovertext"].tolist()) == (["L0H1"], ["copy"])
    assert shown["customdata"].tolist() == [[0.25]]
    with pytest.raises(KeyError, match="q_value"):
        hover("%{q_value}", frame)
