"""The gallery, drawn by a browser and without one: nothing overlaps, nothing is cut off, cells are large enough."""

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import plotly.graph_objects as go
import pytest
from covering import some
from figures.chromium import measure, overlapping
from figures.gallery.shapes import gallery
from playwright.sync_api import Browser

from headcats.figures.static.svg import svg

pytestmark = pytest.mark.ci

LEAST_CELL = {"12x12": 30, "32x32": 10, "80x64": 7}
"""Pixels of a cell of the map that fills a screen."""
_SVG = "{http://www.w3.org/2000/svg}"


def page_of(figures: dict[str, go.Figure]) -> str:
    """One page with all of them below each other."""
    parts = [
        fig.to_html(full_html=False, include_plotlyjs=number == 0, div_id=name)
        for number, (name, fig) in enumerate(figures.items())
    ]
    body = "\n".join(parts)
    return f"<!doctype html><html><head></head><body style='margin: 0'><main>{body}</main></body></html>"


SHAPES = [name for name, _ in gallery()]


@pytest.fixture(scope="module", params=SHAPES)
def shape(request: pytest.FixtureRequest) -> tuple[str, dict[str, go.Figure]]:
    """A shape and its figures."""
    return request.param, dict(dict(gallery())[request.param])


# Of every shape each third figure in CI, others of the next shape.
@pytest.mark.parametrize("every", some([3, 1], in_ci=1))
def test_every_figure_is_legible(
    shape: tuple[str, dict[str, go.Figure]], every: int, browser: Browser, tmp_path: Path
) -> None:
    name, drawn = shape
    drawn = {figure: drawn[figure] for figure in list(drawn)[SHAPES.index(name) % every % len(drawn) :: every]}
    page = tmp_path / "figures.html"
    page.write_text(page_of(drawn), encoding="utf-8")
    height = sum(int(fig.layout.height) for fig in drawn.values())
    seen = measure(browser, page, size=(1400, height))
    assert seen["problems"] == []
    assert seen["requests"] == []
    assert set(seen["figures"]) == set(drawn)
    for name, box in seen["figures"].items():
        texts = [text for text in seen["texts"] if text["figure"] == name]
        assert any(text["text"].startswith("A title") for text in texts), name
        assert overlapping(texts) == [], name
        for first, last in (("left", "right"), ("top", "bottom")):
            cut = [t["text"] for t in texts if t[first] < box[first] - 0.5 or t[last] > box[last] + 0.5]
            assert cut == [], name
        assert min(text["size"] for text in texts) >= 9, name


def test_every_figure_has_a_static_picture_with_all_texts_inside(shape: tuple[str, dict[str, go.Figure]]) -> None:
    for name, fig in shape[1].items():
        picture = svg(fig)
        assert picture is not None, name
        root = ET.fromstring(picture)
        assert (int(root.get("width")), int(root.get("height"))) == (fig.layout.width, fig.layout.height)
        for line in root.iter(f"{_SVG}tspan"):
            if line.get("x") and re.search(r"\w", "".join(line.itertext())):
                assert -0.5 <= float(line.get("x")) <= fig.layout.width + 0.5, (name, line.text)
                assert -0.5 <= float(line.get("y")) <= fig.layout.height + 0.5, (name, line.text)


def test_cells_of_the_large_map_are_large(shape: tuple[str, dict[str, go.Figure]]) -> None:
    name, drawn = shape
    for fig in (fig for figure, fig in drawn.items() if figure.startswith("overlap_map_")):
        assert fig.layout.width <= 1440
        for axis, side in ((fig.layout.xaxis, fig.layout.width), (fig.layout.yaxis, fig.layout.height)):
            cell = (axis.domain[1] - axis.domain[0]) * side / abs(axis.range[1] - axis.range[0])
            assert cell >= LEAST_CELL.get(name, 6) - 1e-6
