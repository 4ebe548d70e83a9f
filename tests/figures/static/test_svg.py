"""A whole figure as SVG."""

import base64
import xml.etree.ElementTree as ElementTree

import plotly.graph_objects as go
from figures.chromium import read_png
from figures.examples import mixed_overlap
from figures.registered import EXAMPLES

from headcats.figures import overlap_map
from headcats.figures.static.svg import svg

NS = "{http://www.w3.org/2000/svg}"


def test_a_large_map_is_an_image_of_a_pixel_a_cell() -> None:
    written = svg(overlap_map(EXAMPLES["overlap_map"](80, 64)))
    assert " id=" not in written, "pictures of one page share no names"
    assert len(written) < 200_000
    images = list(ElementTree.fromstring(written).iter(f"{NS}image"))
    kinds, contents = zip(*(image.get("href", "").split(",") for image in images), strict=True)
    assert set(kinds) == {"data:image/png;base64"}
    assert read_png(base64.b64decode(contents[0])).shape[:2] == (64, 80)


def test_names_with_markup_are_text() -> None:
    hostile = {"<script>alert(1)</script>": "#1f77b4", "a\"b'&<b>": "#ff7f0e"}
    written = svg(overlap_map(mixed_overlap(2, 2, categories=hostile), title="<img src=x>")) or ""
    root = ElementTree.fromstring(written)
    known = {"svg", "rect", "path", "text", "tspan", "image", "g"}
    assert {element.tag.removeprefix(NS) for element in root.iter()} <= known
    texts = ["".join(text.itertext()) for text in root.iter(f"{NS}text")]
    assert any("<script>alert(1)</script>" in text for text in texts)
    assert root.get("aria-label") == "<img src=x>"


def test_plotlys_own_figures_have_no_picture() -> None:
    assert svg(go.Figure(go.Scatter(x=[1], y=[2]))) is None
