"""Traces of plotly as SVG, on a plot of 200 x 100 pixels, 100 from the left and 50 from the top."""

import base64
import xml.etree.ElementTree as ElementTree
from typing import Any

import numpy as np
import plotly.graph_objects as go
from figures.chromium import read_png

from headcats.figures.colours import FAINT, HATCH
from headcats.figures.panels.axes import Axis, Scale
from headcats.figures.panels.curves import stacked_bars
from headcats.figures.panels.layout import Drawing, Placed, Plot
from headcats.figures.static.svg import svg_of
from headcats.figures.static.traces import Box

NS = "{http://www.w3.org/2000/svg}"
CELLS = Axis("layer", 4), Axis("head", 2, reverse=True)
RED_BLUE = [[0, "red"], [0.5, "red"], [0.5, "blue"], [1, "blue"]]


def drawn(*traces: Any, axes: tuple[Axis, Axis | Scale] = CELLS) -> str | None:
    return svg_of(Drawing(400, 200, None, [Placed(Plot(*axes, (200, 100), traces), (100, 50))]))


def picture(*traces: Any, axes: tuple[Axis, Axis | Scale] = CELLS) -> ElementTree.Element:
    return ElementTree.fromstring(drawn(*traces, axes=axes) or "")


def stroked(root: ElementTree.Element, colour: str) -> list[str]:
    """Paths that are drawn in that colour."""
    return [path.get("d", "") for path in root.iter(f"{NS}path") if path.get("stroke") == colour]


def numbers_of(element: ElementTree.Element) -> list[float]:
    return [float(element.get(name, "")) for name in ("x", "y", "width", "height")]


def pixels_of(image: ElementTree.Element) -> np.ndarray:
    return read_png(base64.b64decode(image.get("href", "").partition(",")[2]))


def test_numbers_stand_between_the_edges_of_their_plot() -> None:
    forth, back = (
        Box(Plot(Axis("layer", 4, reverse=r), Scale(0, 5), (200, 50), []), 100, 20, 300, 70) for r in (False, True)
    )
    np.testing.assert_allclose(forth.x([-0.5, 0, 1.5, 3.5]), [100, 125, 200, 300])
    np.testing.assert_allclose(back.x([-0.5, 0, 1.5, 3.5]), [300, 275, 200, 100])
    np.testing.assert_allclose(forth.y([0, 1, None, 5]), [70, 60, np.nan, 20])


def test_cells_have_their_colours_and_places() -> None:
    z = [[0, 1, 1, 1], [1, 1, None, 0]]
    (image,) = picture(go.Heatmap(z=z, colorscale=RED_BLUE, zmin=-0.5, zmax=1.5)).iter(f"{NS}image")
    assert numbers_of(image) == [100, 50, 200, 100]
    red, blue, nothing = [255, 0, 0], [0, 0, 255], [0, 0, 0]
    np.testing.assert_array_equal(pixels_of(image), [[red, blue, blue, blue], [blue, blue, nothing, red]])
    upwards = Axis("layer", 1), Axis("head", 2)
    (image,) = picture(go.Heatmap(z=[[0], [1]], colorscale=RED_BLUE, zmin=0, zmax=1), axes=upwards).iter(f"{NS}image")
    np.testing.assert_array_equal(pixels_of(image), [[blue], [red]])


def test_undecided_heads_stand_hatched_on_those_that_are_sure() -> None:
    bars = stacked_bars([1], {"in": [4], "undecided": [2]}, colour="red")
    root = picture(*bars, axes=(Axis("layer", 2), Scale(0, 10)))
    first, second = (rect for rect in root.iter(f"{NS}rect") if rect.get("fill") in ("red", FAINT))
    assert numbers_of(first) == [210, 110, 80, 40]
    assert numbers_of(second) == [210, 90, 80, 20]
    (lines,) = stroked(root, HATCH)
    assert lines.startswith("M210.00 95.00L215.00 90.00")


def test_lines_break_at_points_without_a_number_and_hidden_ones_are_not_drawn() -> None:
    look = {"x": [0, 1, 2, 3], "y": [0, None, 1, 1], "mode": "lines"}
    hidden = [go.Scatter(**look, line={"color": "blue"}, visible=visible) for visible in (False, "legendonly")]
    root = picture(*hidden, go.Scatter(**look, line={"color": "red"}))
    assert stroked(root, "red") == ["M125.00 75.00M225.00 125.00L275.00 125.00"]
    assert stroked(root, "blue") == []


def test_marks_that_look_alike_are_one_path() -> None:
    marker = {"symbol": ["circle", "circle", "square"], "color": ["red", "red", "blue"], "size": 8}
    root = picture(go.Scatter(x=[0, 1, 2], y=[0, 0, 1], mode="markers", marker=marker))
    paths = {path.get("fill"): path.get("d", "") for path in root.iter(f"{NS}path")}
    assert paths["red"].count("M") == 2
    assert paths["blue"] == "M221.00 121.00L229.00 121.00L229.00 129.00L221.00 129.00Z"


def test_intervals_reach_from_end_to_end() -> None:
    ends = {"array": [1], "arrayminus": [3], "color": "red", "width": 2}
    root = picture(go.Scatter(x=[0], y=[5], mode="markers", error_y=ends), axes=(Axis("layer", 4), Scale(0, 10)))
    assert stroked(root, "red") == ["M125.00 130.00V90.00M123.00 130.00h4M123.00 90.00h4"]


def test_what_only_plotly_can_draw_has_no_picture() -> None:
    of_no_scale = go.Heatmap(z=[[1]], coloraxis="coloraxis")  # of a figure without a colour scale
    for trace in (go.Pie(values=[1, 2]), go.Scatter(x=["a"], y=["b"]), of_no_scale):
        assert drawn(trace) is None
