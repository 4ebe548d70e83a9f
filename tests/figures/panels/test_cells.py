import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headcats.figures.panels.axes import Axis
from headcats.figures.panels.cells import Cells, square_cells
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
