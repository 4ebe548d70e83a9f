"""Layer along x unless the paper's axes are asked for; linked axes; copies for a paper: colours alone, its ticks."""

import inspect
import re

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest
from figures.examples import ICL, without_last_head
from figures.reading import axes, cells, ticks
from figures.registered import EXAMPLES, FIGURES, HEAD_GRIDS, MAPS, PUBLISHED, REGISTERED, TURNED, drawn, published

from headcats.base.errors import OptionError, UnknownNameError
from headcats.figures import data
from headcats.figures.colours import BACKGROUND, FRAME
from headcats.figures.static.svg import svg

LAYERS, HEADS = 5, 3  # of `drawn`
WITH_MARKS = [name for name in FIGURES if "marks" in inspect.signature(REGISTERED[name]).parameters]


def titles(fig: go.Figure, letter: str) -> set[str]:
    return {str(axis.title.text).lower() for axis in axes(fig, letter)}


@pytest.mark.parametrize("name", dict.fromkeys([*MAPS, *HEAD_GRIDS, *TURNED]))
def test_layers_are_named_along_x_and_numbered_all_or_as_one_zooms(name: str) -> None:
    fig = drawn(name)
    assert "layer" in titles(fig, "x")
    if name in MAPS:  # these keep the ticks of the published maps
        return
    few = [axis for axis in axes(fig, "x") if axis.title.text == "layer"]
    assert {axis.tickvals for axis in few} == {tuple(range(LAYERS))}
    many = [axis for axis in axes(drawn(name, (80, 2)), "x") if axis.title.text == "layer"]
    assert {(axis.tickmode, axis.tickvals) for axis in many} == {("auto", None)}
    assert all(5 <= axis.nticks <= 40 for axis in many)


def test_the_paper_has_the_same_numbers_turned() -> None:
    for name in TURNED:
        fig, paper = drawn(name), drawn(name, layout="paper")
        assert len(cells(fig)) == len(cells(paper)) >= 1
        for ours, theirs in zip(cells(fig), cells(paper), strict=True):
            np.testing.assert_array_equal(np.asarray(ours.z), np.swapaxes(theirs.z, 0, 1))
        assert "layer" in titles(paper, "y")
        assert "layer" not in titles(paper, "x")


def test_another_layout_is_refused_with_those_there_are() -> None:
    for name in [*TURNED, "overlap_map"]:
        with pytest.raises(UnknownNameError, match=r"'upright'.*paper"):
            drawn(name, layout="upright")
    with pytest.raises(OptionError, match='layout="paper", marks="none"'):
        drawn("overlap_map", layout="hero", marks="none")


@pytest.mark.parametrize("name", [*MAPS, *HEAD_GRIDS])
def test_panels_of_the_same_heads_are_zoomed_together(name: str) -> None:
    fig = drawn(name)
    of_layers = [axis.matches for axis in axes(fig, "x") if axis.range == (-0.5, LAYERS - 0.5)]
    assert len(of_layers) > 1
    assert sorted(map(str, of_layers)) == ["None", *["x"] * (len(of_layers) - 1)]
    of_heads = [axis.matches for axis in axes(fig, "y") if axis.range == (HEADS - 0.5, -0.5)]
    assert len(of_heads) == len(of_layers)
    assert sorted(map(str, of_heads)) == ["None", *["y"] * (len(of_heads) - 1)]


# ------------------------------------------------------------------------------------------- copies for publication
def swatches(fig: go.Figure) -> list[go.Bar | go.Scatter]:
    return [trace for trace in fig.data if trace.type not in ("heatmap", "image") and trace.showlegend]


def drawn_on_cells(fig: go.Figure) -> list[str]:
    """Names of traces that are neither cells, nor entries of a legend, nor a frame."""
    others = [trace for trace in fig.data if trace.type not in ("heatmap", "image") and not trace.showlegend]
    return [trace.name for trace in others if trace.line.color != FRAME]


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if name in MAPS[1:] else []) for name in WITH_MARKS]
)  # drawn by overlap_map
def test_nothing_but_colours_is_left_of_a_panel(name: str) -> None:
    table, draw = without_last_head(EXAMPLES[name](6, 8)), REGISTERED[name]  # with undecided and negative ones
    marked, bare = draw(table, layout="paper", title="A title"), draw(table, **PUBLISHED, title="A title")
    assert drawn_on_cells(marked)
    assert set(drawn_on_cells(bare)) <= {"behind the last cells"}
    assert {gap for trace in cells(bare) if trace.type == "heatmap" for gap in (trace.xgap, trace.ygap)} <= {0}
    assert all(trace.type == "bar" and trace.marker.pattern.shape is None for trace in swatches(bare))
    assert not any("<b>" in trace.name for trace in swatches(bare))
    # Names of panels, of their sections and of what is beside them stay; notes and the caption do not.
    frame = data(bare)
    names = {*frame.get("panel", []), *frame.get("category", []), "Token Colours"}
    for note in bare.layout.annotations:
        assert re.sub(r"</?b>", "", note.text) in " ".join(sorted(names))
    assert bare.layout.title.text == "A title"
    assert (bare.layout.height, bare.layout.width) <= (marked.layout.height, marked.layout.width)

    # Colours, pointer and numbers are those of the figure with marks.
    pd.testing.assert_frame_equal(data(marked), frame)
    for ours, theirs in zip(cells(marked), cells(bare), strict=True):
        assert ours.hovertemplate == theirs.hovertemplate
        for key in ("z", "customdata", "text", "hovertext"):
            np.testing.assert_array_equal(ours[key], theirs[key])

    if name not in MAPS:  # marks are left out of the other layout too
        assert drawn_on_cells(drawn(name, layout="layers", marks="none")) == []
    with pytest.raises(UnknownNameError, match=r"'non' .*'none'.*all, none"):
        draw(table, marks="non")


def test_a_map_has_the_ticks_of_maps_with_layer_and_head_below_and_left() -> None:
    fig = published("overlap_map", (32, 32))
    assert ticks(fig, "x") == ticks(fig, "y") == {(0, 6, 12, 18, 24, 30)}
    assert {axis.range for axis in axes(fig, "x")} == {(-0.5, 31.5)}
    assert {axis.range for axis in axes(fig, "y")} == {(31.5, -0.5)}
    assert [axis.title.text for axis in axes(fig, "x")] == ["layer"] * 5
    assert [axis.title.text for axis in axes(fig, "y")] == ["head", "", "", "", ""]
    assert {axis.side for axis in axes(fig, "x")} == {None}
    legend = [trace.name for trace in swatches(fig)]
    assert legend == ["4 categories", "3 categories", "2 categories", *reversed(ICL), "Unclassified"]
    assert fig.layout.title.text is None


@pytest.mark.parametrize(
    "size", [(80, 64), (6, 8), pytest.param((126, 128), marks=pytest.mark.slow)], ids="{0[0]}x{0[1]}".format
)
def test_a_row_of_five_panels_fits_1440_pixels_at_any_size(size: tuple[int, int]) -> None:
    fig = published("overlap_map", size, title="A title")
    assert fig.layout.width <= 1440
    across, down = axes(fig, "x"), axes(fig, "y")
    assert len(across) == 5
    assert len({axis.domain for axis in down}) == 1
    for x, y in zip(across, down, strict=True):
        width, height = np.ptp(x.domain) * fig.layout.width, np.ptp(y.domain) * fig.layout.height
        assert width / np.ptp(x.range) >= (2.5 if size[0] == 80 else 1.5) - 1e-9
        # Twice the size has whole pixels.
        assert 2 * width == pytest.approx(round(2 * width))
        assert width >= 110
        assert height >= 160 - 1e-6
        assert max(x.tickvals) <= x.range[1]
        assert max(y.tickvals) <= y.range[0]


def test_effects_have_the_ticks_of_maps_on_white() -> None:
    fig = published("head_grid", (12, 8))
    assert ticks(fig, "x") == {tuple(range(0, 13, 2))}
    assert ticks(fig, "y") == {tuple(range(9))}
    ends = [trace for trace in fig.data if trace.name == "behind the last cells"]
    assert {(trace.fillcolor, trace.hoverinfo) for trace in ends} == {(BACKGROUND, "skip")}
    boxes = {(min(t.x), max(t.x), min(t.y), max(t.y)) for t in ends}
    (right,), (bottom,) = ({axis.range[i] for axis in axes(fig, letter)} for letter, i in (("x", 1), ("y", 0)))
    assert boxes == {(11.5, right, -0.5, bottom), (-0.5, right, 7.5, bottom)}
    assert right >= 12


@pytest.mark.parametrize("name", ["overlap_map", "head_grid"])
def test_the_picture_without_a_browser_has_the_last_tick_too(name: str) -> None:
    picture = svg(published(name, (80, 3)))
    last = [text for text in re.findall(r"<tspan[^>]*>([^<]*)", picture) if text == "80"]
    assert len(last) == picture.count("<image") == len(cells(published(name, (80, 3))))
