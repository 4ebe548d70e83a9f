"""What Chromium makes of a page: where its texts are, what it asks the network for, and a screenshot as an array."""

import contextlib
import io
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from browser import Tab
from PIL import Image
from playwright.sync_api import Browser

_DRAWN = """async () => {
  const figures = [...document.querySelectorAll(".js-plotly-plot")].filter((figure) => figure.layout);
  await Promise.all(figures.flatMap((figure) => figure._promises));
  await document.fonts.ready;
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
}"""

_MEASURE = """() => {
  const boxOf = (element) => {
    const { left, top, right, bottom } = element.getBoundingClientRect();
    return { left, top, right, bottom };
  };
  const texts = [...document.querySelectorAll("svg text")].map((element) => {
    const box = element.getBBox(), turned = element.getScreenCTM();
    const corners = [[0, 0], [1, 0], [1, 1], [0, 1]].map(([x, y]) => {
      const at = new DOMPoint(box.x + x * box.width, box.y + y * box.height).matrixTransform(turned);
      return [at.x, at.y];
    });
    const around = element.closest(".js-plotly-plot"), size = parseFloat(getComputedStyle(element).fontSize);
    return { text: element.textContent, ...boxOf(element), corners, figure: around ? around.id : "", size };
  }).filter((text) => text.text.trim() && text.right > text.left);
  const figures = [...document.querySelectorAll(".js-plotly-plot")].map((figure) => [figure.id, boxOf(figure)]);
  const pages = [document.documentElement, document.querySelector("main")];
  const hidden = Math.max(...pages.map((page) => page.scrollWidth - page.clientWidth));
  return { texts, figures: Object.fromEntries(figures), hidden };
}"""

_HOVER = """async ([subplot, x, y]) => {
  const figure = document.querySelector(".js-plotly-plot");
  const settled = () => new Promise((done) => setTimeout(done, 200));  // plotly waits 50 ms between two hovers
  if (subplot === "pointer") {
    for (const kind of ["mouseover", "mousemove"]) {
      const event = new MouseEvent(kind, { clientX: x, clientY: y, bubbles: true, view: window });
      document.elementFromPoint(x, y).dispatchEvent(event);
    }
  } else Plotly.Fx.hover(figure, { xval: x, yval: y }, subplot);
  await settled();
  const said = [...document.querySelectorAll(".hoverlayer .hovertext text")].map((text) => text.textContent);
  Plotly.Fx.unhover(figure);
  await settled();
  return said.join(" | ");
}"""


def measure(
    browser: Browser, page: Path, *, size: tuple[int, int], hovers: tuple[tuple[str, int, int], ...] = ()
) -> dict[str, Any]:
    """What a browser makes of a page in a window of that size.

    Args:
        browser: See `conftest.py`.
        page: Written by `write`, or any other.
        size: Width and height of the window in pixels.
        hovers: `(subplot, layer, head)`, or `("pointer", x, y)` in pixels of the window.

    Returns:
        `texts`: boxes of all texts, each with its `corners` (a slanted text fills little of its box), its font
        `size` and the id of its `figure`. `figures`: id -> box.
        `hovers`: texts at the hovers. `hidden`: how many pixels one has to scroll sideways
        to see all. `problems`: errors, warnings not among them. `requests`: addresses asked for.
    """
    with drawn(browser, page, size=size) as tab:
        found = tab.page.evaluate(_MEASURE)
        found["hovers"] = [tab.page.evaluate(_HOVER, list(hover)) for hover in hovers]
        return found | {"problems": errors(tab), "requests": tab.requests[1:]}


@contextlib.contextmanager
def drawn(browser: Browser, page: Path, *, size: tuple[int, int]) -> Iterator[Tab]:
    """A page whose figures are there, in a window of that size."""
    width, height = size
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme="light", offline=True)
    tab = Tab(context.new_page())
    tab.watch()
    tab.page.goto(page.resolve().as_uri())
    tab.page.evaluate(_DRAWN)
    yield tab
    context.close()


def errors(tab: Tab) -> list[str]:
    """What went wrong, warnings not among it: CircuitsVis gives many."""
    return [said for said in tab.problems if not said.startswith("warning: ")]


def overlapping(texts: list[dict]) -> list[tuple[str, str]]:
    """Pairs of texts that meet by more than the pixel that line heights round to."""
    near = [
        (a, b)
        for a, b in itertools.combinations(texts, 2)
        if min(a["right"], b["right"]) - max(a["left"], b["left"]) > 1
        and min(a["bottom"], b["bottom"]) - max(a["top"], b["top"]) > 1
    ]
    return [(a["text"], b["text"]) for a, b in near if depth(np.array(a["corners"]), np.array(b["corners"])) > 1]


def depth(one: np.ndarray, other: np.ndarray) -> float:
    """By how many pixels two rectangles meet, each turned in its own way; below 0 if a line parts them."""
    sides = np.concatenate([one[1:3] - one[:2], other[1:3] - other[:2]])
    across = sides / np.linalg.norm(sides, axis=1, keepdims=True)
    first, second = one @ across.T, other @ across.T
    return float((np.minimum(first.max(0), second.max(0)) - np.maximum(first.min(0), second.min(0))).min())


def screenshot(browser: Browser, page: Path, *, size: tuple[int, int]) -> np.ndarray:
    """The page as `(height, width, 3)` bytes."""
    with drawn(browser, page, size=size) as tab:
        return read_png(tab.page.screenshot())


def read_png(data: bytes) -> np.ndarray:
    """Pixels of a picture as `(height, width, 3)` bytes."""
    with Image.open(io.BytesIO(data)) as picture:
        return np.asarray(picture.convert("RGB"))
