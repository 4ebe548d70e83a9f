"""Layer along x in every figure unless its paper's axes are asked for; linked axes; numbers that adapt to zoom."""

import inspect

import numpy as np
import plotly.graph_objects as go
import pytest
from figures.examples import EXAMPLES, FIGURES, REGISTERED

import headcats.figures
from headcats.errors import UnknownNameError

TURNED = ["importance_grid", "always_any", "layer_token", "position_head"]
"""Figures whose paper has other axes."""
LAYERS, HEADS = 5, 3


def drawn(name: str, size: tuple[int, int] = (LAYERS, HEADS), **options: object) -> go.Figure:
    return getattr(headcats.figures, name)(EXAMPLES[name](*size), **options)


def titles(fig: go.Figure, letter: str) -> set[str]:
    keys = [key for key in fig.layout if key.startswith(f"{letter}axis")]
    return {str(fig.layout[key].title.text).lower() for key in keys} - {"none", ""}


def cells(fig: go.Figure) -> list[np.ndarray]:
    """Values of the panels, first row and column at number 0."""
    traces = [trace for trace in fig.data if trace.type in ("heatmap", "image") and trace.name != "colours"]
    return [np.asarray(trace.z) for trace in traces]


@pytest.mark.parametrize("name", FIGURES)
def test_no_figure_has_layers_along_y(name: str) -> None:
    fig = drawn(name)
    assert "layer" not in titles(fig, "y")
    if "layer" in titles(fig, "x"):
        assert titles(fig, "x") <= {"layer", "facilitation", "update"}


@pytest.mark.parametrize("name", ["overlap_map", "head_grid", "layer_profile", "ov_map", *TURNED[:3]])
def test_layers_are_named_along_x(name: str) -> None:
    assert "layer" in titles(drawn(name), "x")


@pytest.mark.parametrize("name", TURNED)
def test_the_paper_has_the_same_numbers_turned(name: str) -> None:
    default, paper = (cells(drawn(name, **options)) for options in ({}, {"layout": "paper"}))
    assert len(default) == len(paper) >= 1
    for ours, theirs in zip(default, paper, strict=True):
        np.testing.assert_array_equal(ours, np.swapaxes(theirs, 0, 1))


@pytest.mark.parametrize("name", TURNED[:3])
def test_the_paper_has_layers_along_y(name: str) -> None:
    fig = drawn(name, layout="paper")
    assert "layer" in titles(fig, "y")
    assert "layer" not in titles(fig, "x")


@pytest.mark.parametrize("name", [*TURNED, "overlap_map"])
def test_another_layout_is_refused_with_those_there_are(name: str) -> None:
    with pytest.raises(UnknownNameError, match=r"'upright'.*paper"):
        drawn(name, layout="upright")
    assert inspect.signature(REGISTERED[name]).parameters["layout"].kind is inspect.Parameter.KEYWORD_ONLY


@pytest.mark.parametrize("name", [*TURNED[:2], "overlap_map", "head_grid", "layer_profile", "ov_map"])
def test_panels_of_the_same_heads_are_zoomed_together(name: str) -> None:
    fig = drawn(name)
    of_layers = [axis.matches for axis in _axes(fig, "x") if axis.range == (-0.5, LAYERS - 0.5)]
    assert len(of_layers) > 1
    assert sorted(map(str, of_layers)) == ["None", *["x"] * (len(of_layers) - 1)]
    if name != "layer_profile":
        of_heads = [axis.matches for axis in _axes(fig, "y") if axis.range == (HEADS - 0.5, -0.5)]
        assert len(of_heads) == len(of_layers)
        assert sorted(map(str, of_heads)) == ["None", *["y"] * (len(of_heads) - 1)]


def test_scales_of_numbers_are_not_linked_to_those_of_heads() -> None:
    fig = drawn("layer_profile")
    assert {fig.layout[key].matches for key in fig.layout if key.startswith("yaxis")} == {None}


@pytest.mark.parametrize("name", ["head_grid", "importance_grid", "always_any", "layer_profile", "layer_token"])
def test_few_layers_are_all_numbered_and_many_as_one_zooms(name: str) -> None:
    few = [axis for axis in _axes(drawn(name, (3, 2)), "x") if axis.title.text == "layer"]
    assert {axis.tickvals for axis in few} == {(0, 1, 2)}
    many = [axis for axis in _axes(drawn(name, (80, 64)), "x") if axis.title.text == "layer"]
    assert {(axis.tickmode, axis.tickvals) for axis in many} == {("auto", None)}
    assert all(5 <= axis.nticks <= 40 for axis in many)


def test_the_map_of_the_seed_keeps_its_ticks() -> None:
    assert list(drawn("overlap_map", (32, 32)).layout.xaxis.tickvals) == list(range(0, 33, 6))


def _axes(fig: go.Figure, letter: str) -> list[go.layout.XAxis]:
    return [fig.layout[key] for key in fig.layout if key.startswith(f"{letter}axis")]
