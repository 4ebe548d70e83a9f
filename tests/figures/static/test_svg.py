"""A whole figure as SVG."""

import base64
import xml.etree.ElementTree as ElementTree
from typing import Any

import numpy as np
import plotly.graph_objects as go
from figures.chromium import read_png
from figures.examples import mixed_overlap
from figures.registered import EXAMPLES

import headcats.figures
from headcats.figures.panels.axes import Axis, Scale
from headcats.figures.panels.bars import stacked_bars
from headcats.figures.panels.drawing import Drawing, Placed
from headcats.figures.panels.layout import Plot
from headcats.figures.static.svg import svg, svg_of

NS = "{http://www.w3.org/2000/svg}"
CELLS = Axis("layer", 4), Axis("head", 2, reverse=True)
RED_BLUE = [[0, "red"], [0.5, "red"], [0.5, "blue"], [1, "blue"]]


def drawn(*traces: Any, axes: tuple[Axis, Axis | Scale] = CELLS) -> str | None:
    """Traces on a plot of 200 x 100 pixels, 100 from the left and 50 from the top."""
    return svg_of(Drawing(400, 200, None, [Placed(Plot(*axes, (200, 100), traces), (100, 50))]))


def picture(*traces: Any, axes: tuple[Axis, Axis | Scale] = CELLS) -> ElementTree.Element:
    return ElementTree.fromstring(drawn(*traces, axes=axes) or "")


def numbers_of(element: ElementTree.Element, *names: str) -> list[float]:
    return [float(element.get(name, "")) for name in names]


def pixels_of(image: ElementTree.Element) -> np.ndarray:
    return read_png(base64.b64decode(image.get("href", "").partition(",")[2]))


def test_a_large_map_is_an_image_of_a_pixel_a_cell() -> None:
    written = svg(headcats.figures.overlap_map(EXAMPLES["overlap_map"](80, 64)))
    assert " id=" not in written, "pictures of one page share no names"
    assert len(written) < 200_000
    images = list(ElementTree.fromstring(written).iter(f"{NS}image"))
    assert {image.get("href", "")[:22] for image in images} == {"data:image/png;base64,"}
    assert pixels_of(images[0]).shape[:2] == (64, 80)


def test_cells_have_their_colours_and_places() -> None:
    z = [[0, 1, 1, 1], [1, 1, None, 0]]
    (image,) = picture(go.Heatmap(z=z, colorscale=RED_BLUE, zmin=-0.5, zmax=1.5)).iter(f"{NS}image")
    assert numbers_of(image, "x", "y", "width", "height") == [100, 50, 200, 100]
    red, blue, nothing = [255, 0, 0], [0, 0, 255], [0, 0, 0]
    np.testing.assert_array_equal(pixels_of(image), [[red, blue, blue, blue], [blue, blue, nothing, red]])


def test_cells_of_an_axis_that_runs_upwards_are_turned() -> None:
    axes = Axis("layer", 1), Axis("head", 2)
    (image,) = picture(go.Heatmap(z=[[0], [1]], colorscale=RED_BLUE, zmin=0, zmax=1), axes=axes).iter(f"{NS}image")
    np.testing.assert_array_equal(pixels_of(image), [[[0, 0, 255]], [[255, 0, 0]]])


def test_undecided_heads_stand_hatched_on_those_that_are_sure() -> None:
    bars = stacked_bars([1], {"in": [4], "undecided": [2]}, width=0.5, colour="red", undecided="blue", ink="lime")
    root = picture(*bars, axes=(Axis("layer", 2), Scale(0, 10)))
    first, second = (rect for rect in root.iter(f"{NS}rect") if rect.get("fill") in ("red", "blue"))
    assert numbers_of(first, "x", "y", "width", "height") == [225, 110, 50, 40]
    assert numbers_of(second, "x", "y", "width", "height") == [225, 90, 50, 20]
    (lines,) = (path for path in root.iter(f"{NS}path") if path.get("stroke") == "lime")
    assert lines.get("d", "").startswith("M225.00 95.00L230.00 90.00")


def test_points_without_a_number_break_a_line() -> None:
    root = picture(go.Scatter(x=[0, 1, 2, 3], y=[0, None, 1, 1], mode="lines", line={"color": "red"}))
    (path,) = (path for path in root.iter(f"{NS}path") if path.get("stroke") == "red")
    assert path.get("d") == "M125.00 75.00M225.00 125.00L275.00 125.00"


def test_marks_that_look_alike_are_one_path() -> None:
    marker = {"symbol": ["circle", "circle", "square"], "color": ["red", "red", "blue"], "size": 8}
    root = picture(go.Scatter(x=[0, 1, 2], y=[0, 0, 1], mode="markers", marker=marker))
    paths = {path.get("fill"): path.get("d", "") for path in root.iter(f"{NS}path")}
    assert paths["red"].count("M") == 2
    assert paths["blue"] == "M221.00 121.00L229.00 121.00L229.00 129.00L221.00 129.00Z"


def test_intervals_reach_from_end_to_end() -> None:
    ends = {"array": [1], "arrayminus": [3], "color": "red", "width": 2}
    root = picture(go.Scatter(x=[0], y=[5], mode="markers", error_y=ends), axes=(Axis("layer", 4), Scale(0, 10)))
    (path,) = (path for path in root.iter(f"{NS}path") if path.get("stroke") == "red")
    assert path.get("d") == "M125.00 130.00V90.00M123.00 130.00h4M123.00 90.00h4"


def test_hidden_traces_are_not_drawn() -> None:
    look = {"mode": "lines", "x": [0, 1], "y": [0, 1]}
    hidden = [go.Scatter(**look, line={"color": "red"}, visible=visible) for visible in (False, "legendonly")]
    root = picture(*hidden, go.Scatter(**look, line={"color": "blue"}))
    strokes = {path.get("stroke") for path in root.iter(f"{NS}path")}
    assert "blue" in strokes
    assert "red" not in strokes


def test_names_with_markup_are_text() -> None:
    hostile = {"<script>alert(1)</script>": "#1f77b4", "a\"b'&<b>": "#ff7f0e"}
    written = svg(headcats.figures.overlap_map(mixed_overlap(2, 2, categories=hostile), title="<img src=x>")) or ""
    root = ElementTree.fromstring(written)
    known = {"svg", "rect", "path", "text", "tspan", "image", "g"}
    assert {element.tag.removeprefix(NS) for element in root.iter()} <= known
    texts = ["".join(text.itertext()) for text in root.iter(f"{NS}text")]
    assert any("<script>alert(1)</script>" in text for text in texts)
    assert root.get("aria-label") == "<img src=x>"


def test_what_only_plotly_can_draw_has_no_picture() -> None:
    assert svg(go.Figure(go.Scatter(x=[1], y=[2]))) is None
    for trace in (
        go.Pie(values=[1, 2]),
        go.Scatter(x=["a"], y=["b"]),
        go.Heatmap(z=[[1]], coloraxis="coloraxis"),  # of a figure without a colour scale
    ):
        assert drawn(trace) is None
