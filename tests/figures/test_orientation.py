"""Layer along x in every figure unless its paper's axes are asked for; linked axes; numbers that adapt to zoom."""

import functools

import numpy as np
import plotly.graph_objects as go
import pytest
from figures.registered import EXAMPLES, HEAD_GRIDS, MAPS, REGISTERED, TURNED, of_papers

from headcats.base.errors import UnknownNameError

LAYERS, HEADS = 5, 3


@functools.cache
def drawn(name: str, size: tuple[int, int] = (LAYERS, HEADS), **options: object) -> go.Figure:
    """Read-only."""
    return REGISTERED[name](EXAMPLES[name](*size), **options)


def titles(fig: go.Figure, letter: str) -> set[str]:
    keys = [key for key in fig.layout if key.startswith(f"{letter}axis")]
    return {str(fig.layout[key].title.text).lower() for key in keys} - {"none", ""}


def cells(fig: go.Figure) -> list[np.ndarray]:
    """Values of the panels, first row and column at number 0."""
    traces = [trace for trace in fig.data if trace.type in ("heatmap", "image") and trace.name != "colours"]
    return [np.asarray(trace.z) for trace in traces]


@pytest.mark.parametrize("name", dict.fromkeys([*MAPS, *HEAD_GRIDS, "layer_profile", *of_papers("TURNED")]))
def test_layers_are_named_along_x_and_numbered_all_or_as_one_zooms(name: str) -> None:
    fig = drawn(name)
    assert "layer" in titles(fig, "x")
    if name in MAPS:  # these keep the ticks of the published maps
        return
    few = [axis for axis in _axes(fig, "x") if axis.title.text == "layer"]
    assert {axis.tickvals for axis in few} == {tuple(range(LAYERS))}
    many = [axis for axis in _axes(drawn(name, (80, 2)), "x") if axis.title.text == "layer"]
    assert {(axis.tickmode, axis.tickvals) for axis in many} == {("auto", None)}
    assert all(5 <= axis.nticks <= 40 for axis in many)


@pytest.mark.parametrize("name", TURNED)
def test_the_paper_has_the_same_numbers_turned(name: str) -> None:
    fig, paper = drawn(name), drawn(name, layout="paper")
    assert len(cells(fig)) == len(cells(paper)) >= 1
    for ours, theirs in zip(cells(fig), cells(paper), strict=True):
        np.testing.assert_array_equal(ours, np.swapaxes(theirs, 0, 1))
    if name in of_papers("TURNED"):
        assert "layer" in titles(paper, "y")
        assert "layer" not in titles(paper, "x")


def test_another_layout_is_refused_with_those_there_are() -> None:
    for name in [*TURNED, "overlap_map"]:
        with pytest.raises(UnknownNameError, match=r"'upright'.*paper"):
            drawn(name, layout="upright")


@pytest.mark.parametrize("name", [*MAPS, *HEAD_GRIDS, "layer_profile"])
def test_panels_of_the_same_heads_are_zoomed_together(name: str) -> None:
    fig = drawn(name)
    of_layers = [axis.matches for axis in _axes(fig, "x") if axis.range == (-0.5, LAYERS - 0.5)]
    assert len(of_layers) > 1
    assert sorted(map(str, of_layers)) == ["None", *["x"] * (len(of_layers) - 1)]
    if name != "layer_profile":
        of_heads = [axis.matches for axis in _axes(fig, "y") if axis.range == (HEADS - 0.5, -0.5)]
        assert len(of_heads) == len(of_layers)
        assert sorted(map(str, of_heads)) == ["None", *["y"] * (len(of_heads) - 1)]
    else:  # scales of numbers are not those of heads
        assert {axis.matches for axis in _axes(fig, "y")} == {None}


def _axes(fig: go.Figure, letter: str) -> list[go.layout.XAxis]:
    return [fig.layout[key] for key in fig.layout if key.startswith(f"{letter}axis")]
