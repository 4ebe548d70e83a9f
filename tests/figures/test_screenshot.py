from collections.abc import Callable
from pathlib import Path

import plotly.graph_objects as go
import pytest
from figures.chromium import measure
from figures.examples import mixed_overlap
from figures.registered import EXAMPLES, MAPS, REGISTERED
from playwright.sync_api import Browser

from headcats.figures import overlap_map, write

# Layer and head.
HEADS = [(0, 0), (2, 3), (5, 7)]


def window(fig: go.Figure) -> tuple[int, int]:
    return int(fig.layout.width), int(fig.layout.height)


def panel_box(fig: go.Figure, number: int) -> tuple[float, float, float, float]:
    """Left, top, right, bottom of a panel in pixels."""
    x, y = (fig.layout[f"{axis}axis{number if number > 1 else ''}"].domain for axis in "xy")
    width, height = window(fig)
    return x[0] * width, (1 - y[1]) * height, x[1] * width, (1 - y[0]) * height


@pytest.mark.parametrize(("figure", "width"), [*((REGISTERED[name], 1000) for name in MAPS), (overlap_map, 1400)])
def test_maps_need_no_sideways_scrolling(figure: Callable, width: int, browser: Browser, tmp_path: Path) -> None:
    fig = figure(EXAMPLES[figure.__name__](6, 8), title="A title")
    left, top, right, bottom = panel_box(fig, 5)
    scale = min(1.0, width / window(fig)[0])
    at = [(left + (layer + 0.5) / 6 * (right - left), top + (head + 0.5) / 8 * (bottom - top)) for layer, head in HEADS]
    hovers = tuple(("pointer", round(scale * x), round(scale * y)) for x, y in at)
    seen = measure(browser, write(fig, tmp_path / "map.html"), size=(width, 900), hovers=hovers)
    assert seen["problems"] == []
    assert seen["hidden"] == 0
    rightmost = max(t["right"] for t in seen["texts"])
    assert scale * right - 20 < rightmost <= width  # as large as there is room
    # The pointer finds the head below it at any size.
    assert [said.partition(":")[0] for said in seen["hovers"]] == [f"L{layer}H{head}" for layer, head in HEADS]


def test_a_narrow_window_scrolls_before_texts_become_unreadable(browser: Browser, tmp_path: Path) -> None:
    fig = overlap_map(mixed_overlap(6, 8))
    seen = measure(browser, write(fig, tmp_path / "map.html"), size=(600, 900))
    assert seen["hidden"] == pytest.approx(0.6 * window(fig)[0] - 600, abs=2)
