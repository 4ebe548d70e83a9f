"""Every figure, drawn by a browser: nothing overlaps, nothing is cut off, nothing is fetched."""

from pathlib import Path

import plotly.graph_objects as go
import pytest
from figures.chromium import measure, overlapping
from figures.examples import EXAMPLES, FIGURES

import headcats.figures

pytestmark = pytest.mark.ci

SIZES = [(2, 2), (32, 32), pytest.param((80, 64), marks=pytest.mark.slow)]


def page_of(figures: dict[str, go.Figure]) -> str:
    """One page with all of them below each other: a browser takes longer to start than to draw."""
    parts = [
        fig.to_html(full_html=False, include_plotlyjs=number == 0, div_id=name)
        for number, (name, fig) in enumerate(figures.items())
    ]
    body = "\n".join(parts)
    return f"<!doctype html><html><head></head><body style='margin: 0'><main>{body}</main></body></html>"


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_every_figure_is_legible(size: tuple[int, int], tmp_path: Path) -> None:
    drawn = {name: getattr(headcats.figures, name)(EXAMPLES[name](*size), title="A title") for name in FIGURES}
    page = tmp_path / "figures.html"
    page.write_text(page_of(drawn), encoding="utf-8")
    height = sum(int(fig.layout.height) for fig in drawn.values())
    seen = measure(page, size=(1400, height))
    assert seen["problems"] == []
    assert seen["requests"] == []
    assert set(seen["figures"]) == set(FIGURES)
    for name, box in seen["figures"].items():
        texts = [text for text in seen["texts"] if text["figure"] == name]
        assert any(text["text"].startswith("A title") for text in texts), name
        assert overlapping(texts) == [], name
        for first, last in (("left", "right"), ("top", "bottom")):
            cut = [t["text"] for t in texts if t[first] < box[first] - 0.5 or t[last] > box[last] + 0.5]
            assert cut == [], name
        assert min(text["size"] for text in texts) >= 9, name
