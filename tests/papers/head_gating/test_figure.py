import functools

import numpy as np
import plotly.graph_objects as go
import pytest
import xarray as xr
from figures.reading import axes, cells, texts_of
from figures.test_colours import closest
from hypothesis import given
from hypothesis import strategies as st
from paper_tables import gates_of, scattered_gates

from headcats.base.errors import OptionError, UnknownNameError
from headcats.figures import data
from headcats.figures.panels.axes import Axis
from headcats.figures.panels.cells import Cells
from headcats.papers.head_gating.figure import CORNERS, always_any, composite, corner_colour, hex_colour, lines_between

paper_gates = functools.partial(always_any, layout="paper")
"""The axes of the paper; tests/figures/test_layouts.py compares those of the default with them."""

# Two seeds of L0H0, L0H1, L1H0, L1H1. Always: facilitation .9, 0, 0, 0. Any: .9, .6, 0, .8.
FACILITATION = np.array([[[0.9, 0.6], [0.0, 0.0]], [[1.0, 0.0], [0.0, 0.8]]])
# Always: 0, 0, .7, 0. Any: 0, .2, .9, 1.
INTERFERENCE = np.array([[[0.0, 0.2], [0.7, 0.0]], [[0.0, 0.0], [0.9, 1.0]]])
RAINBOW = {"both": "#ffff00", "facilitation": "#00ff00", "interference": "#ff0000", "neither": "#000000"}


def by_hand(datasets: tuple[str, ...] = ("Math Calculation",)) -> xr.Dataset:
    one = [np.repeat(values[None], len(datasets), axis=0) for values in (FACILITATION, INTERFERENCE)]
    return gates_of(*one, datasets=datasets)


@functools.cache
def drawn() -> go.Figure:
    """Never changed."""
    return paper_gates(by_hand())


def test_rows_are_data_sets_and_columns_always_and_any() -> None:
    fig = paper_gates(by_hand(("Syntactic Understanding", "Math Calculation")))
    names = ["Math (Always)", "Math (Any)", "Syntax (Always)", "Syntax (Any)"]
    assert [trace.name for trace in cells(fig)] == names
    assert [text for text in texts_of(fig) if text in names] == names
    x, y = axes(fig, "x"), axes(fig, "y")
    assert (x[0].domain, x[1].domain) == (x[2].domain, x[3].domain)
    assert (y[0].domain, y[2].domain) == (y[1].domain, y[3].domain)
    assert x[0].domain[1] < x[1].domain[0]
    assert y[2].domain[1] < y[0].domain[0]
    assert [axis.title.text for axis in x] == ["", "", "Head", "Head"]
    assert [axis.title.text for axis in y] == ["Layer", "", "Layer", ""]


def test_other_data_sets_keep_their_names_and_shortened_ones_are_told_in_full() -> None:
    fig = paper_gates(by_hand(("few-shot copying", "Math Calculation", "a<b>")))
    assert [trace.name for trace in cells(fig)][::2] == [f"{n} (Always)" for n in ("few-shot copying", "Math", "a<b>")]
    assert "a&lt;b&gt; (Any)" in texts_of(fig)
    said = " ".join(texts_of(fig))
    assert "Math = Math Calculation" in said
    assert "Syntax = " not in said
    assert "Syntax = Syntactic" in " ".join(texts_of(paper_gates(scattered_gates(2, 2))))


def test_colours_are_red_for_interference_and_green_for_facilitation() -> None:
    always, ever = cells(drawn())
    expected = [[[0, 230, 0, 255], [0, 0, 0, 255]], [[178, 0, 0, 255], [0, 0, 0, 255]]]
    np.testing.assert_array_equal(always.z, expected)
    expected = [[[0, 255, 0, 255], [51, 153, 0, 255]], [[230, 0, 0, 255], [255, 204, 0, 255]]]
    np.testing.assert_array_equal(ever.z, expected)
    assert ever.colormodel == "rgba"


def test_the_other_palette_is_orange_for_interference_and_blue_for_facilitation() -> None:
    fig = paper_gates(by_hand(), palette="colour_blind")
    always, _ = cells(fig)
    expected = [[[0, 81, 230, 255], [0, 0, 0, 255]], [[178, 116, 0, 255], [0, 0, 0, 255]]]
    np.testing.assert_allclose(always.z, expected, atol=1)
    entries = {trace.name: trace.marker.color for trace in fig.data if trace.type == "bar"}
    assert entries == {"both": "#ffffff", "facilitation": "#005aff", "interference": "#ffa500", "neither": "#000000"}
    assert data(fig).colour.iloc[0] == hex_colour(np.array(always.z[0][0]))
    first, other = (paper_gates(by_hand(), score="facilitation", palette=name) for name in ("headcats", "colour_blind"))
    assert first.layout.coloraxis.colorscale != other.layout.coloraxis.colorscale


def test_the_legend_names_the_four_corners_in_their_colours() -> None:
    fig = drawn()
    entries = {trace.name: trace.marker for trace in fig.data if trace.type == "bar"}
    assert {name: marker.color for name, marker in entries.items()} == RAINBOW == {n: corner_colour(n) for n in CORNERS}
    assert {name for name, marker in entries.items() if marker.pattern.shape == "/"} == {"both", "interference"}
    square = next(trace for trace in fig.data if trace.name == "colours")
    assert {hex_colour(np.array(square.z[y][x])) for x in (0, -1) for y in (0, -1)} == set(RAINBOW.values())
    assert np.array(square.z)[-1, 0].tolist() == [255, 0, 0, 255]


@given(st.floats(0, 1) | st.just(np.nan), st.floats(0, 1) | st.just(np.nan))
def test_a_composite_holds_both_scores(facilitation: float, interference: float) -> None:
    red, green, blue, opaque = composite(np.array([[facilitation]]), np.array([[interference]]))[0, 0]
    missing = np.isnan(facilitation) or np.isnan(interference)
    assert (blue, opaque) == (0, 0 if missing else 255)
    if not missing:
        assert (red / 255, green / 255) == pytest.approx((interference, facilitation), abs=0.002)


def test_hatching_is_a_second_cue_for_interference() -> None:
    fig = drawn()
    hatched = [trace for trace in fig.data if trace.name == "hatched"]
    x, y = (np.array(side, dtype=float).reshape(-1, 3) for side in (hatched[0].x, hatched[0].y))
    assert ((x[:, 1] - x[:, 0]) * (y[:, 1] - y[:, 0]) > 0).all()  # it rises to the right, as in the legend
    # Lines cross L1H0 in both panels, in Any also L1H1; layer 1 stands on top.
    crossed = [np.rint(np.nanmean(np.array([trace.x, trace.y], dtype=float).reshape(2, -1, 3), 2)) for trace in hatched]
    assert [set(map(tuple, middles.T.tolist())) for middles in crossed] == [{(0, 1)}, {(0, 1), (1, 1)}]
    frame = data(fig)
    assert frame[frame.hatched].name.tolist() == ["L1H0", "L1H0", "L1H1"]
    assert data(paper_gates(by_hand(), threshold=0.95)).query("hatched").name.tolist() == ["L1H1"]


def test_one_score_per_panel_on_turbo_from_0_to_1() -> None:
    gates = by_hand()
    for score in ("facilitation", "interference", "irrelevance"):
        fig = paper_gates(gates, score=score)
        for trace, values in zip(cells(fig), (gates[score].min("seed"), gates[score].max("seed")), strict=True):
            np.testing.assert_allclose(trace.z, values.values[0], rtol=1e-6)
            assert trace.coloraxis == "coloraxis"
        axis = fig.layout.coloraxis
        assert (axis.cmin, axis.cmax) == (0, 1)
        assert (axis.colorscale[0][1], axis.colorscale[-1][1]) == ("#30123b", "#7a0402")
        assert axis.colorbar.title.text == score.capitalize()
        assert tuple(map(str.strip, axis.colorbar.ticktext)) == ("0.0", "0.2", "0.4", "0.6", "0.8", "1.0")
        frame = data(fig)
        assert (frame.hatched == (frame[score] >= 0.5)).all()
        assert set(frame.colour) == {""}
        assert not [trace for trace in fig.data if trace.type == "bar"]


def test_missing_seeds_are_said() -> None:
    gates = by_hand(("one", "two"))
    short = gates.copy(deep=True)
    for name in ("facilitation", "interference", "irrelevance"):
        short[name][1, 1] = np.nan
    fig = paper_gates(short)
    assert data(fig).groupby("dataset").seeds.first().to_dict() == {"one": 2, "two": 1}
    assert "two 1 of 2 " in " ".join(texts_of(fig))
    assert "1 of 2" not in " ".join(texts_of(paper_gates(gates)))
    begun = paper_gates(by_hand().isel(seed=[0]).assign_attrs(n_seeds="10"))
    assert "Math 1 of 10 " in " ".join(texts_of(begun))


def test_what_is_refused() -> None:
    for threshold in (0.0, 1.0, np.nan):
        with pytest.raises(OptionError, match="threshold"):
            paper_gates(by_hand(), threshold=threshold)
    with pytest.raises(UnknownNameError, match="'facilitation'"):
        paper_gates(by_hand(), score="facilitate")


def test_corners_of_the_other_composite_are_told_apart_by_everybody() -> None:
    assert closest([corner_colour(name, palette="colour_blind") for name in CORNERS]) >= 25
    assert closest([corner_colour(name) for name in CORNERS]) < 4
    with pytest.raises(UnknownNameError, match="headcats, colour_blind"):
        corner_colour("both", palette="sepia")


def test_light_lines_part_the_cells_of_an_image() -> None:
    cells = Cells(Axis("layer", 3), Axis("head", 2, reverse=True), (20, 10))
    assert cells.gap == 1
    lines = lines_between(cells)
    # Half a pixel beside the border of two cells, where a line one pixel wide is sharp.
    across, down = 0.5 / 20, 0.5 / 10
    assert list(lines.x[0::3]) == pytest.approx([0.5 + across, 1.5 + across, -0.5])
    assert list(lines.x[1::3]) == pytest.approx([0.5 + across, 1.5 + across, 2.5])
    assert list(lines.y[0::3]) == pytest.approx([-0.5, -0.5, 0.5 + down])
    assert list(lines.y[1::3]) == pytest.approx([1.5, 1.5, 0.5 + down])
    assert lines_between(Cells(Axis("layer", 3), Axis("head", 2), (5, 5))) is None
