"""The gallery, drawn by a browser and without one: nothing overlaps, nothing is cut off, cells are large enough."""

from pathlib import Path

import plotly.graph_objects as go
import pytest
from figures.chromium import measure, overlapping
from figures.gallery.shapes import gallery
from playwright.sync_api import Browser


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
