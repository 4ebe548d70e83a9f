"""Static pictures beside what plotly draws in Chromium: the same texts and colours at the same places."""

from pathlib import Path

import pytest
from figures.chromium import measure, screenshot
from figures.registered import EXAMPLES, FIGURES
from playwright.sync_api import Browser

import headcats.figures
from headcats.figures.static.svg import svg

# In one font, where it is installed: plotly sets the name of an axis by how wide the labels beside it are.
FONT = "text { font-family: 'DejaVu Sans', sans-serif !important }"
PAGE = f"<!doctype html><html><head><style>{FONT}</style></head><body style='margin: 0'><main>%s</main></body></html>"
BARE = {"displayModeBar": False}


def middle(text: dict) -> tuple[float, float]:
    return (text["left"] + text["right"]) / 2, (text["top"] + text["bottom"]) / 2


@pytest.mark.parametrize(("n_layers", "n_heads"), [(6, 8), (32, 32)])
def test_texts_and_colours_are_where_plotly_has_them(
    n_layers: int, n_heads: int, browser: Browser, tmp_path: Path
) -> None:
    figures = {
        name: getattr(headcats.figures, name)(EXAMPLES[name](n_layers, n_heads), title="A title") for name in FIGURES
    }
    drawn = {
        "plotly": [
            fig.to_html(full_html=False, include_plotlyjs=number == 0, div_id=name, config=BARE)
            for number, (name, fig) in enumerate(figures.items())
        ],
        "static": [
            f"<div class='js-plotly-plot' id='{name}'>{svg(fig)}</div>".replace(
                "<svg ", "<svg style='display:block' ", 1
            )
            for name, fig in figures.items()
        ],
    }
    window = (1400, sum(int(fig.layout.height) for fig in figures.values()))
    pages, pixels = {}, {}
    for kind, parts in drawn.items():
        path = tmp_path / f"{kind}.html"
        path.write_text(PAGE % "".join(parts), encoding="utf-8")
        pages[kind] = measure(browser, path, size=window)
        pixels[kind] = screenshot(browser, path, size=window).astype(int)
    assert pages["static"]["requests"] == []
    top = 0
    for name, fig in figures.items():
        expected, seen = ([t for t in page["texts"] if t["figure"] == name] for page in pages.values())
        assert len(seen) == len(expected), name
        # plotly sets the name of a colour bar over the longest text of its ticks, that of an axis left of its labels:
        # how long these are depends on the browser's font.
        beside_labels = {fig.layout.coloraxis.colorbar.title.text}
        beside_labels |= {axis.title.text for axis in fig.select_yaxes() if axis.ticktext}
        for text in expected:
            x, y = middle(text)
            same = [middle(t) for t in seen if t["text"].strip() == text["text"].strip()]
            apart = min((abs(x - px) + abs(y - py) for px, py in same), default=float("inf"))
            assert apart < 3 or (text["text"] in beside_labels and apart < 40), (name, text["text"], apart)
        shape = slice(top, top + int(fig.layout.height)), slice(0, int(fig.layout.width))
        far = abs(pixels["plotly"][shape] - pixels["static"][shape]).max(-1) > 60
        assert far.mean() < 0.07, name  # edges of letters and lines
        top += int(fig.layout.height)
