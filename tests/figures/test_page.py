"""The page of a figure in a browser: its size, its theme, its numbers as one zooms, its buttons."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from figures.chromium import measure
from figures.registered import EXAMPLES, MAPS, REGISTERED
from playwright.sync_api import Browser, Page

from headcats.figures import head_grid, write
from headcats.figures.colours import BACKGROUND, DARK, TEXT

_LOOK = "[figure.layout.paper_bgcolor, figure.layout.font.color]"
_AXES = "['xaxis', 'xaxis2'].map((name) => [figure.layout[name].tickmode, figure._fullLayout[name].range[1]])"


@pytest.fixture
def page(browser: Browser, tmp_path: Path) -> Iterator[Page]:
    """Effects of 32 x 32 heads on a light system."""
    tab = browser.new_page(color_scheme="light")
    tab.goto(write(head_grid(EXAMPLES["head_grid"](32, 32)), tmp_path / "figure.html").as_uri())
    yield tab
    tab.close()


def test_it_follows_the_system_and_is_printed_on_white(page: Page) -> None:
    light, dark = [BACKGROUND, TEXT], [DARK[BACKGROUND], DARK[TEXT]]
    assert page.evaluate(_LOOK) == light
    page.emulate_media(color_scheme="dark")
    page.wait_for_function(f"figure.layout.paper_bgcolor === '{DARK[BACKGROUND]}'")
    assert page.evaluate(_LOOK) == dark
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate(_LOOK) == light
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.evaluate(_LOOK) == dark


def test_names_that_objects_have_are_no_colours(page: Page) -> None:
    names = ["constructor", "toString", "valueOf"]
    call = "(names) => withColours({ names }, dark)"
    assert page.evaluate(call, names) == {"names": names}


def test_panels_zoom_together_and_number_whole_layers(page: Page) -> None:
    assert page.evaluate(_AXES) == [["auto", 31.5]] * 2
    page.evaluate("Plotly.relayout(figure, {'xaxis.range': [3.5, 6.5]})")
    page.wait_for_function("figure.layout.xaxis.tickmode === 'linear'")
    assert [end for _, end in page.evaluate(_AXES)] == [6.5] * 2
    numbers = page.evaluate("[...document.querySelectorAll('.xtick text')].map((text) => text.textContent)")
    assert set(numbers) == {"4", "5", "6"}
    page.evaluate("Plotly.relayout(figure, {'xaxis.range': [-0.5, 31.5]})")
    page.wait_for_function("figure.layout.xaxis.tickmode === 'auto'")


def test_its_buttons_are_not_passed_key_by_key(page: Page) -> None:
    buttons = page.evaluate("[...document.querySelectorAll('.modebar-btn')].map((button) => button.tabIndex)")
    assert len(buttons) > 3
    assert set(buttons) == {-1}


@pytest.mark.parametrize(("name", "width"), [*((name, 1000) for name in MAPS), ("overlap_map", 1400)])
def test_maps_need_no_sideways_scrolling(name: str, width: int, browser: Browser, tmp_path: Path) -> None:
    fig = REGISTERED[name](EXAMPLES[name](6, 8), title="A title")
    scale = min(1.0, width / fig.layout.width)
    (left, right), (bottom, top) = fig.layout.xaxis5.domain, fig.layout.yaxis5.domain
    heads = np.array([(0, 0), (2, 3), (5, 7)])
    across, down = (left, right) * np.array(fig.layout.width), (1 - top, 1 - bottom) * np.array(fig.layout.height)
    at = zip(*(start + (heads[:, side] + 0.5) / n * (stop - start)
               for side, n, (start, stop) in ((0, 6, across), (1, 8, down))), strict=True)  # fmt: skip
    hovers = tuple(("pointer", round(scale * x), round(scale * y)) for x, y in at)
    seen = measure(browser, write(fig, tmp_path / "map.html"), size=(width, 900), hovers=hovers)
    assert (seen["problems"], seen["hidden"]) == ([], 0)
    assert scale * across[1] - 20 < max(text["right"] for text in seen["texts"]) <= width  # as large as there is room
    # The pointer finds the head below it at any size.
    assert [said.partition(":")[0] for said in seen["hovers"]] == [f"L{layer}H{head}" for layer, head in heads]


def test_a_narrow_window_scrolls_before_texts_become_unreadable(browser: Browser, tmp_path: Path) -> None:
    fig = REGISTERED["overlap_map"](EXAMPLES["overlap_map"](6, 8))
    seen = measure(browser, write(fig, tmp_path / "map.html"), size=(600, 900))
    assert seen["hidden"] == pytest.approx(0.6 * fig.layout.width - 600, abs=2)
