import functools

import numpy as np
import plotly.graph_objects as go
import pytest
import xarray as xr
from figures.examples import gates_of, scattered_gates
from hypothesis import given
from hypothesis import strategies as st

from headcats.errors import DataError, OptionError, UnknownNameError
from headcats.figures import data
from headcats.methods.head_gating.figure import CORNERS, always_any, composite, corner_colour, hex_colour
from headcats.methods.head_gating.over_seeds import always_any as reduced

paper_gates = functools.partial(always_any, layout="paper")
"""The axes of the paper; tests/figures/test_orientation.py compares those of the default with them."""

# Two seeds of L0H0, L0H1, L1H0, L1H1. Always: facilitation .9, 0, 0, 0. Any: .9, .6, 0, .8.
FACILITATION = np.array([[[0.9, 0.6], [0.0, 0.0]], [[1.0, 0.0], [0.0, 0.8]]])
# Always: 0, 0, .7, 0. Any: 0, .2, .9, 1.
INTERFERENCE = np.array([[[0.0, 0.2], [0.7, 0.0]], [[0.0, 0.0], [0.9, 1.0]]])
RAINBOW = {"both": "#ffff00", "facilitation": "#00ff00", "interference": "#ff0000", "neither": "#000000"}


def by_hand(datasets: tuple[str, ...] = ("Math Calculation",)) -> xr.Dataset:
    one = [np.repeat(values[None], len(datasets), axis=0) for values in (FACILITATION, INTERFERENCE)]
    return gates_of(*one, datasets=datasets)


def panels(fig: go.Figure) -> list[go.Image | go.Heatmap]:
    return [trace for trace in fig.data if trace.type in ("image", "heatmap") and trace.name != "colours"]


def axes_of(fig: go.Figure, letter: str, n: int) -> list:
    return [fig.layout[f"{letter}axis{number if number > 1 else ''}"] for number in range(1, n + 1)]


def texts_of(fig: go.Figure) -> list[str]:
    return [annotation.text for annotation in fig.layout.annotations]


def test_rows_are_data_sets_and_columns_always_and_any() -> None:
    fig = paper_gates(by_hand(("Syntactic Understanding", "Math Calculation")))
    names = ["Math (Always)", "Math (Any)", "Syntax (Always)", "Syntax (Any)"]
    assert [trace.name for trace in panels(fig)] == names
    assert [text for text in texts_of(fig) if text in names] == names
    x, y = axes_of(fig, "x", 4), axes_of(fig, "y", 4)
    assert x[0].domain == x[2].domain
    assert x[1].domain == x[3].domain
    assert x[0].domain[1] < x[1].domain[0]
    assert y[0].domain == y[1].domain
    assert y[2].domain == y[3].domain
    assert y[2].domain[1] < y[0].domain[0]
    assert [(a.title.text, b.title.text) for a, b in zip(x, y, strict=True)] == [
        ("", "Layer"),
        ("", ""),
        ("Head", "Layer"),
        ("Head", ""),
    ]


def test_other_data_sets_keep_their_names_order_and_any_number_of_rows() -> None:
    names = ("few-shot copying", "Math Calculation", "a<b>")
    fig = paper_gates(by_hand(names))
    shortened = ("few-shot copying", "Math", "a<b>")
    assert [trace.name for trace in panels(fig)][::2] == [f"{name} (Always)" for name in shortened]
    assert "a&lt;b&gt; (Any)" in texts_of(fig)


def test_layer_0_is_at_the_bottom() -> None:
    fig = paper_gates(scattered_gates(28, 24))
    for x, y in zip(axes_of(fig, "x", 4), axes_of(fig, "y", 4), strict=True):
        assert x.range == (-0.5, 23.5)
        assert y.range == (-0.5, 27.5)
        assert list(x.tickvals) == [0, 6, 12, 18]
        assert list(y.tickvals) == [0, 6, 12, 18, 24]


def test_every_head_and_layer_of_few_is_labelled() -> None:
    fig = paper_gates(scattered_gates(6, 8))
    for x, y in zip(axes_of(fig, "x", 4), axes_of(fig, "y", 4), strict=True):
        assert list(x.tickvals) == list(range(8))
        assert list(y.tickvals) == list(range(6))


def test_light_lines_part_the_cells_of_a_composite_where_there_is_room() -> None:
    def lines_of(fig: go.Figure) -> list[go.Scatter]:
        return [trace for trace in fig.data if trace.name == "cell lines"]

    lines = lines_of(paper_gates(by_hand()))
    assert len(lines) == 2
    segments = np.array([lines[0].x, lines[0].y], dtype=float).T.reshape(-1, 3, 2)[:, :2]
    assert segments.tolist() == [[[0.5, -0.5], [0.5, 1.5]], [[-0.5, 0.5], [1.5, 0.5]]]
    assert lines[0].line.color == "#e2e2e2"
    assert not lines_of(paper_gates(scattered_gates(80, 64)))
    heat = paper_gates(by_hand(), score="facilitation")
    assert not lines_of(heat)  # its cells have gaps
    assert {trace.xgap for trace in panels(heat)} == {lines[0].line.width}


def test_shortened_names_are_told_in_full() -> None:
    said = " ".join(texts_of(paper_gates(scattered_gates(2, 2))))
    assert "Math = Math Calculation" in said
    assert "Syntax = Syntactic Understanding" in said
    said = " ".join(texts_of(paper_gates(by_hand(("other", "Math Calculation")))))
    assert "Math = Math Calculation" in said
    assert "Syntax = " not in said


def test_colours_are_red_for_interference_and_green_for_facilitation() -> None:
    always, ever = panels(paper_gates(by_hand()))
    expected = [[[0, 230, 0, 255], [0, 0, 0, 255]], [[178, 0, 0, 255], [0, 0, 0, 255]]]
    np.testing.assert_array_equal(always.z, expected)
    expected = [[[0, 255, 0, 255], [51, 153, 0, 255]], [[230, 0, 0, 255], [255, 204, 0, 255]]]
    np.testing.assert_array_equal(ever.z, expected)
    assert ever.colormodel == "rgba"


def test_the_other_palette_is_orange_for_interference_and_blue_for_facilitation() -> None:
    fig = paper_gates(by_hand(), palette="colour_blind")
    always, _ = panels(fig)
    expected = [[[0, 81, 230, 255], [0, 0, 0, 255]], [[178, 116, 0, 255], [0, 0, 0, 255]]]
    np.testing.assert_allclose(always.z, expected, atol=1)
    entries = {trace.name: trace.marker.color for trace in fig.data if trace.type == "bar"}
    assert entries == {"both": "#ffffff", "facilitation": "#005aff", "interference": "#ffa500", "neither": "#000000"}
    assert data(fig).colour.iloc[0] == hex_colour(np.array(always.z[0][0]))
    first, other = (paper_gates(by_hand(), score="facilitation", palette=name) for name in ("headcats", "colour_blind"))
    assert first.layout.coloraxis.colorscale != other.layout.coloraxis.colorscale


def test_the_legend_names_the_four_corners_in_their_colours() -> None:
    fig = paper_gates(by_hand())
    entries = {trace.name: trace.marker for trace in fig.data if trace.type == "bar"}
    assert {name: marker.color for name, marker in entries.items()} == RAINBOW
    assert {name for name, marker in entries.items() if marker.pattern.shape == "/"} == {"both", "interference"}
    square = next(trace for trace in fig.data if trace.name == "colours")
    corners = {hex_colour(np.array(square.z[y][x])) for x in (0, -1) for y in (0, -1)}
    assert corners == set(RAINBOW.values())
    assert np.array(square.z)[-1, 0].tolist() == [255, 0, 0, 255]
    titles = {
        axis: [fig.layout[key].title.text for key in fig.layout if key.startswith(axis)] for axis in ("xaxis", "yaxis")
    }
    assert "facilitation" in titles["xaxis"]
    assert "interference" in titles["yaxis"]


@pytest.mark.parametrize("name", CORNERS)
def test_corner_colours(name: str) -> None:
    assert corner_colour(name) == RAINBOW[name]


@given(st.floats(0, 1) | st.just(np.nan), st.floats(0, 1) | st.just(np.nan))
def test_a_composite_holds_both_scores(facilitation: float, interference: float) -> None:
    red, green, blue, opaque = composite(np.array([[facilitation]]), np.array([[interference]]))[0, 0]
    missing = np.isnan(facilitation) or np.isnan(interference)
    assert (blue, opaque) == (0, 0 if missing else 255)
    if not missing:
        assert (red / 255, green / 255) == pytest.approx((interference, facilitation), abs=0.002)


def test_hatching_is_a_second_cue_for_interference() -> None:
    fig = paper_gates(by_hand())
    hatched = [trace for trace in fig.data if trace.name == "hatched"]
    # Lines cross L1H0 in both panels, in Any also L1H1; layer 1 stands on top.
    assert [{(round(x), round(y)) for x, y in cells(trace)} for trace in hatched] == [{(0, 1)}, {(0, 1), (1, 1)}]
    frame = data(fig)
    assert frame[frame.hatched].name.tolist() == ["L1H0", "L1H0", "L1H1"]
    assert data(paper_gates(by_hand(), threshold=0.95)).query("hatched").name.tolist() == ["L1H1"]


def cells(trace: go.Scatter) -> list[tuple[float, float]]:
    """Middles of the segments of a hatch, which lie inside their cells."""
    x, y = np.array(trace.x, dtype=float).reshape(-1, 3), np.array(trace.y, dtype=float).reshape(-1, 3)
    parts = np.linspace(0.02, 0.98, 25)
    return [
        (a[0] + (a[1] - a[0]) * part, b[0] + (b[1] - b[0]) * part) for a, b in zip(x, y, strict=True) for part in parts
    ]


def test_hatching_rises_to_the_right_as_in_the_legend() -> None:
    trace = next(trace for trace in paper_gates(by_hand()).data if trace.name == "hatched")
    x, y = np.array(trace.x, dtype=float).reshape(-1, 3), np.array(trace.y, dtype=float).reshape(-1, 3)
    assert ((x[:, 1] - x[:, 0]) * (y[:, 1] - y[:, 0]) > 0).all()


def test_shares_of_heads_stand_above_the_panels() -> None:
    texts = texts_of(paper_gates(by_hand()))
    for score, shares in (("facilitation", (25, 75)), ("interference", (25, 50))):
        for share in shares:
            assert f"{score} ≥ 0.5: {share}.0 % of heads" in texts
    assert any("score of 2 seeds" in text for text in texts)


@pytest.mark.parametrize("score", ["facilitation", "interference", "irrelevance"])
def test_one_score_per_panel_on_turbo_from_0_to_1(score: str) -> None:
    gates = by_hand()
    fig = paper_gates(gates, score=score)
    for trace, values in zip(panels(fig), (gates[score].min("seed"), gates[score].max("seed")), strict=True):
        np.testing.assert_allclose(trace.z, values.values[0], rtol=1e-6)
        assert trace.coloraxis == "coloraxis"
    axis = fig.layout.coloraxis
    assert (axis.cmin, axis.cmax) == (0, 1)
    assert axis.colorscale[0][1] == "#30123b"
    assert axis.colorscale[-1][1] == "#7a0402"
    assert axis.colorbar.title.text == score.capitalize()
    assert tuple(map(str.strip, axis.colorbar.ticktext)) == ("0.0", "0.2", "0.4", "0.6", "0.8", "1.0")
    frame = data(fig)
    assert (frame.hatched == (frame[score] >= 0.5)).all()
    assert set(frame.colour) == {""}
    assert not [trace for trace in fig.data if trace.type == "bar"]


def test_numbers_are_those_of_the_reduction() -> None:
    gates = scattered_gates(3, 4)
    frame = data(paper_gates(gates))
    table = reduced(gates)
    for row in frame.itertuples():
        here = table[row.reduction.lower()].sel(dataset=row.dataset, layer=row.layer, head=row.head)
        for score in ("facilitation", "interference", "irrelevance"):
            assert getattr(row, score) == here.sel(score=score)
    assert set(frame.seeds) == {3}
    assert len(frame) == 2 * 2 * 12
    row = frame.iloc[5]
    levels = [round(255 * value) for value in (row.interference, row.facilitation)]
    assert row.colour == "#{:02x}{:02x}00".format(*levels)


def test_hover_gives_every_score_with_its_range_over_seeds() -> None:
    fig = paper_gates(by_hand())
    always, ever = panels(fig)
    for trace, reduction in ((always, "Always"), (ever, "Any")):
        name, facilitation, *rest = trace.hovertemplate.split("<br>")
        assert name.endswith(f"</b> Math ({reduction})")
        assert facilitation.startswith("facilitation %{customdata[0]:.3f}")
        assert len(rest) == 2
    np.testing.assert_allclose(ever.customdata[1][0][:4], [0, 0, 0.9, 0.7], rtol=1e-6)


def test_a_data_set_with_fewer_seeds_says_so() -> None:
    gates = by_hand(("one", "two"))
    short = gates.copy(deep=True)
    for name in ("facilitation", "interference", "irrelevance"):
        short[name][1, 1] = np.nan
    fig = paper_gates(short)
    assert data(fig).groupby("dataset").seeds.first().to_dict() == {"one": 2, "two": 1}
    caption = " ".join(texts_of(fig)).replace("&nbsp;", " ")
    assert "of 1 to 2 seeds" in caption
    assert "one 2 of 2 " in caption
    assert "two 1 of 2 " in caption
    assert "cannot be compared" in caption
    whole = " ".join(texts_of(paper_gates(gates)))
    assert "not all seeds" not in whole
    assert "cannot be compared" not in whole


def test_an_unfinished_run_says_how_many_seeds_are_here() -> None:
    begun = by_hand().isel(seed=[0]).assign_attrs(n_seeds="10")
    caption = " ".join(texts_of(paper_gates(begun))).replace("&nbsp;", " ")
    assert "score of 1 seed " in caption
    assert "with one seed" in caption
    assert "Math 1 of 10 seeds" in caption
    assert "cannot be compared" not in caption


def test_heads_that_a_layer_lacks_are_transparent() -> None:
    gates = by_hand()
    gates = gates.where((gates["layer"] == 0) | (gates["head"] == 0))
    always, _ = panels(fig := paper_gates(gates))
    assert always.z[1][1][3] == 0
    rows = data(fig).query("reduction == 'Always'").set_index("name")
    assert rows.colour.tolist() == ["#00e600", "#000000", "#b20000", ""]
    assert "facilitation ≥ 0.5: 33.3 % of heads" in texts_of(fig)


def test_another_score_lists_near_matches() -> None:
    with pytest.raises(UnknownNameError, match=r"mean 'facilitation'.*: composite"):
        paper_gates(by_hand(), score="facilitate")


@pytest.mark.parametrize("threshold", [0.0, 1.0, np.nan])
def test_a_threshold_is_a_share(threshold: float) -> None:
    with pytest.raises(OptionError, match="threshold between 0 and 1"):
        paper_gates(by_hand(), threshold=threshold)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (by_hand().drop_vars("interference"), r"`interference` over \(dataset, seed, layer, head\)"),
        (by_hand().mean("seed"), r"`facilitation` over \(dataset, seed, layer, head\).*head_gating"),
        (by_hand(("same", "same")), "distinct labels along `dataset`"),
    ],
    ids=["no interference", "no seeds", "twice"],
)
def test_wrong_tables_are_refused_with_what_came(table: xr.Dataset, message: str) -> None:
    with pytest.raises(DataError, match=message):
        paper_gates(table)
