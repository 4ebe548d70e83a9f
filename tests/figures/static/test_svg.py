"""A whole figure as SVG."""

import base64
import xml.etree.ElementTree as ElementTree

import numpy as np
import plotly.graph_objects as go
from figures.chromium import read_png
from figures.examples import EXAMPLES, mixed_overlap

import headcats.figures
from headcats.figures.static.svg import svg

NS = "{http://www.w3.org/2000/svg}"
LAYOUT = {
    "width": 400,
    "height": 200,
    "font": {"color": "black"},
    "paper_bgcolor": "white",
    "plot_bgcolor": "white",
    "xaxis": {"range": [-0.5, 3.5], "domain": [0.25, 0.75]},
    "yaxis": {"range": [1.5, -0.5], "domain": [0.25, 0.75]},
}


def picture(*traces: object, **layout: object) -> ElementTree.Element:
    drawn = svg(go.Figure(list(traces), LAYOUT | layout))
    assert drawn is not None
    return ElementTree.fromstring(drawn)


def numbers_of(element: ElementTree.Element, *names: str) -> list[float]:
    return [float(element.get(name, "")) for name in names]


def test_a_large_map_is_an_image_of_a_pixel_a_cell() -> None:
    drawn = svg(headcats.figures.overlap_map(EXAMPLES["overlap_map"](80, 64)))
    assert " id=" not in drawn, "pictures of one page share no names"
    assert len(drawn) < 200_000
    images = list(ElementTree.fromstring(drawn).iter(f"{NS}image"))
    assert {image.get("href", "")[:22] for image in images} == {"data:image/png;base64,"}
    pixels = read_png(base64.b64decode(images[0].get("href", "").partition(",")[2]))
    assert pixels.shape[:2] == (64, 80)


def test_cells_have_their_colours_and_places() -> None:
    scale = [[0, "red"], [0.5, "red"], [0.5, "blue"], [1, "blue"]]
    z = [[0, 1, 1, 1], [1, 1, None, 0]]
    root = picture(go.Heatmap(z=z, colorscale=scale, zmin=-0.5, zmax=1.5, showscale=False))
    (image,) = root.iter(f"{NS}image")
    assert numbers_of(image, "x", "y", "width", "height") == [100, 50, 200, 100]
    pixels = read_png(base64.b64decode(image.get("href", "").partition(",")[2]))
    red, blue, nothing = [255, 0, 0], [0, 0, 255], [0, 0, 0]
    np.testing.assert_array_equal(pixels, [[red, blue, blue, blue], [blue, blue, nothing, red]])


def test_cells_of_an_axis_that_runs_upwards_are_turned() -> None:
    upwards = {"range": [-0.5, 1.5], "domain": [0.25, 0.75]}
    scale = [[0, "red"], [1, "blue"]]
    root = picture(go.Heatmap(z=[[0], [1]], colorscale=scale, zmin=0, zmax=1, showscale=False), yaxis=upwards)
    (image,) = root.iter(f"{NS}image")
    pixels = read_png(base64.b64decode(image.get("href", "").partition(",")[2]))
    np.testing.assert_array_equal(pixels, [[[0, 0, 255]], [[255, 0, 0]]])


def test_stacked_bars_stand_on_each_other() -> None:
    axes = {"xaxis": {"range": [0, 2], "domain": [0.25, 0.75]}, "yaxis": {"range": [0, 10], "domain": [0.25, 0.75]}}
    bars = [go.Bar(x=[1], y=[height], marker={"color": colour}) for height, colour in ((4, "red"), (2, "blue"))]
    root = picture(*bars, barmode="stack", bargap=0.5, **axes)
    first, second = (rect for rect in root.iter(f"{NS}rect") if rect.get("fill") in ("#ff0000", "#0000ff"))
    assert numbers_of(first, "x", "y", "width", "height") == [175, 110, 50, 40]
    assert numbers_of(second, "x", "y", "width", "height") == [175, 90, 50, 20]


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


def test_hidden_traces_are_not_drawn() -> None:
    look = {"mode": "lines", "x": [0, 1], "y": [0, 1]}
    hidden = [go.Scatter(**look, line={"color": "red"}, visible=visible) for visible in (False, "legendonly")]
    root = picture(*hidden, go.Scatter(**look, line={"color": "blue"}))
    assert [path.get("stroke") for path in root.iter(f"{NS}path")] == ["blue"]


def test_names_with_markup_are_text() -> None:
    hostile = {"<script>alert(1)</script>": "#1f77b4", "a\"b'&<b>": "#ff7f0e"}
    drawn = svg(headcats.figures.overlap_map(mixed_overlap(2, 2, categories=hostile), title="<img src=x>")) or ""
    root = ElementTree.fromstring(drawn)
    known = {"svg", "rect", "path", "text", "tspan", "image", "g"}
    assert {element.tag.removeprefix(NS) for element in root.iter()} <= known
    texts = ["".join(text.itertext()) for text in root.iter(f"{NS}text")]
    assert any("<script>alert(1)</script>" in text for text in texts)
    assert root.get("aria-label") == "<img src=x>"


def test_a_figure_of_another_kind_has_no_picture() -> None:
    size = {"width": 300, "height": 200}
    for fig in (
        go.Figure(go.Scatter(x=[1], y=[2])),  # without a size
        go.Figure(go.Scatter(x=[1], y=[2]), size),  # its axes are plotly's to choose
        go.Figure(go.Pie(values=[1, 2]), size),
        go.Figure(go.Scatter(x=["a"], y=["b"]), LAYOUT),
    ):
        assert svg(fig) is None
