"""Headless Chromium: where a page puts its texts, what it asks the network for, and a screenshot as an array."""

import html
import io
import itertools
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

_FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--force-color-profile=srgb",
]

_WATCH = """<script>
window.problems = [];
addEventListener("error", e => window.problems.push(String(e.message)));
const consoleError = console.error;
console.error = (...said) => { window.problems.push(said.join(" ")); consoleError(...said); };
</script>"""

_MEASURE = """<script>
addEventListener("load", () => setTimeout(() => {
  const seen = [...document.querySelectorAll("svg text")].map(e => {
    const b = e.getBoundingClientRect();
    const box = e.getBBox(), turned = e.getScreenCTM();
    const corners = [[0, 0], [1, 0], [1, 1], [0, 1]].map(([x, y]) => {
      const p = new DOMPoint(box.x + x * box.width, box.y + y * box.height).matrixTransform(turned);
      return [p.x, p.y];
    });
    const around = e.closest(".js-plotly-plot");
    return {text: e.textContent, left: b.left, top: b.top, right: b.right, bottom: b.bottom,
            corners: corners, figure: around ? around.id : "", size: parseFloat(getComputedStyle(e).fontSize)};
  }).filter(t => t.text.trim() && t.right > t.left);
  const figures = [...document.querySelectorAll(".js-plotly-plot")].map(e => {
    const b = e.getBoundingClientRect();
    return [e.id, {left: b.left, top: b.top, right: b.right, bottom: b.bottom}];
  });
  const figure = document.querySelector(".js-plotly-plot");
  const pages = [document.documentElement, document.querySelector("main")];
  const hidden = Math.max(...pages.map(e => e.scrollWidth - e.clientWidth));
  const hovers = HOVERS;
  const said = [];
  const point = (x, y) => {
    for (const kind of ["mouseover", "mousemove"]) {
      const event = new MouseEvent(kind, {clientX: x, clientY: y, bubbles: true, view: window});
      document.elementFromPoint(x, y).dispatchEvent(event);
    }
  };
  const next = () => {
    if (hovers.length) {
      const [subplot, x, y] = hovers.shift();
      if (subplot === "pointer") point(x, y);
      else Plotly.Fx.hover(figure, {xval: x, yval: y}, subplot);
      setTimeout(() => {
        said.push([...document.querySelectorAll(".hoverlayer .hovertext text")].map(e => e.textContent).join(" | "));
        Plotly.Fx.unhover(figure);
        setTimeout(next, 200);
      }, 200);
    } else {
      const out = document.createElement("pre");
      out.id = "measured";
      out.textContent = JSON.stringify({
        texts: seen, figures: Object.fromEntries(figures), hovers: said, problems: window.problems, hidden: hidden,
        requests: performance.getEntriesByType("resource").map(r => r.name),
      });
      document.body.append(out);
    }
  };
  next();
}, 500));
</script>"""


def measure(page: Path, *, size: tuple[int, int], hovers: tuple[tuple[str, int, int], ...] = ()) -> dict[str, Any]:
    """What a browser makes of a plotly page in a window of that size.

    Args:
        page: Written by `write`.
        size: Width and height of the window in pixels.
        hovers: `(subplot, layer, head)`, or `("pointer", x, y)` in pixels of the window.

    Returns:
        `texts`: boxes of all texts, each with its `corners` (a slanted text fills little of its box), its font
        `size` and the id of its `figure`. `figures`: id -> box.
        `hovers`: texts at the hovers. `hidden`: how many pixels one has to scroll sideways
        to see all. `problems`: script errors. `requests`: addresses asked for.
    """
    text = page.read_text(encoding="utf-8").replace("<head>", f"<head>{_WATCH}", 1)
    before, after = text.rsplit("</body>", 1)
    watched = page.with_name(f"measured_{page.name}")
    watched.write_text(before + _MEASURE.replace("HOVERS", json.dumps(hovers)) + "</body>" + after, encoding="utf-8")
    dom = _chromium(watched, "--dump-dom", size=size).decode("utf-8")
    found = dom.rpartition('<pre id="measured">')[2].partition("</pre>")
    assert found[1], f"the page never finished drawing: {dom[-2000:]}"
    return json.loads(html.unescape(found[0]))


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


def screenshot(page: Path, *, size: tuple[int, int], theme: str = "light") -> np.ndarray:
    """The page as `(height, width, 3)` bytes."""
    picture = page.with_suffix(".png")
    take_picture(page, picture, size=size, theme=theme)
    return read_png(picture.read_bytes())


def take_picture(page: Path, picture: Path, *, size: tuple[int, int], theme: str = "light") -> None:
    """Write the page as a PNG, as somebody sees it whose system is light or dark."""
    _chromium(page, f"--screenshot={picture}", size=size, theme=theme)


def read_png(data: bytes) -> np.ndarray:
    """Pixels of a picture as `(height, width, 3)` bytes."""
    with Image.open(io.BytesIO(data)) as picture:
        return np.asarray(picture.convert("RGB"))


def _chromium(page: Path, action: str, *, size: tuple[int, int], theme: str = "light") -> bytes:
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.fail("Chromium is needed to look at the figures, and none was found: apt-get install chromium")
    profile = page.with_suffix(".profile")
    command = [program, *_FLAGS, f"--user-data-dir={profile}", "--virtual-time-budget=20000"]
    # 1 is light, 0 dark: an enumeration of Blink.
    command += [f"--blink-settings=preferredColorScheme={int(theme == 'light')}"]
    command += [f"--window-size={size[0]},{size[1]}", action, page.resolve().as_uri()]
    # Chromium holds inherited handles of stderr open; a file takes them without blocking the pipe.
    with page.with_suffix(".log").open("wb") as log:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=log, timeout=120, check=False)
    assert done.returncode == 0, page.with_suffix(".log").read_text(encoding="utf-8", errors="replace")[-2000:]
    return done.stdout
