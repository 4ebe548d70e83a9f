"""The gallery, drawn by a browser and without one: nothing overlaps, nothing is cut off, cells are large enough."""

from pathlib import Path

import plotly.graph_objects as go
import pytest
from figures.chromium import measure, overlapping
from figures.gallery.shapes import gallery
from figures.test_every_figure import check_static_picture
from playwright.sync_api import Browser

LEAST_CELL = {"12x12": 30, "32x32": 10, "80x64": 7}
"""Pixels of a cell of the map that fills a screen."""


def page_of(figures: dict[str, go.Figure]) -> str:
    """One page with all of them below each other."""
    parts = [
        fig.to_html(full_html=False, include_plotlyjs=number == 0, div_id=name)
        for number, (name, fig) in enumerate(figures.items())
    ]
    body = "\n".join(parts)
    return f"<!doctype html><html><head></head><body style='margin: 0'><main>{body}</main></body></html>"


@pytest.mark.parametrize("name", [name for name, _ in gallery()])
def test_every_figure_is_legible(name: str, browser: Browser, tmp_path: Path) -> None:
    drawn = dict(dict(gallery())[name])
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


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, _ in gallery()])
def test_static_pictures_hold_their_texts_and_large_maps_large_cells(name: str) -> None:
    for figure, fig in dict(gallery())[name]:
        check_static_picture(fig)
        if figure.startswith("overlap_map_"):
            assert fig.layout.width <= 1440
            for axis, side in ((fig.layout.xaxis, fig.layout.width), (fig.layout.yaxis, fig.layout.height)):
                cell = (axis.domain[1] - axis.domain[0]) * side / abs(axis.range[1] - axis.range[0])
                assert cell >= LEAST_CELL.get(name, 6) - 1e-6
