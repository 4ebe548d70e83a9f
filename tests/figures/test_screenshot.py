from collections.abc import Callable
from pathlib import Path

import numpy as np
import plotly.graph_objects as go
import pytest
from covering import some
from figures.chromium import measure, overlapping, screenshot
from figures.examples import EXAMPLES, ICL, gates_of, mixed_overlap, scores_of
from playwright.sync_api import Browser

from headcats.figures import data, head_grid, overlap_map, write
from headcats.methods.head_gating.figure import always_any
from headcats.methods.ov_relation.figure import ov_map

pytestmark = pytest.mark.ci

LEGEND = ["4 categories", "3 categories", "2 categories", *reversed(ICL), "Unclassified", "Undecided"]
PANELS = ["All Categories", *ICL]
# Layer and head.
HEADS = [(0, 0), (2, 3), (5, 7)]


def window(fig: go.Figure) -> tuple[int, int]:
    return int(fig.layout.width), int(fig.layout.height)


def panel_box(fig: go.Figure, number: int) -> tuple[float, float, float, float]:
    """Left, top, right, bottom of a panel in pixels."""
    x, y = (fig.layout[f"{axis}axis{number if number > 1 else ''}"].domain for axis in "xy")
    width, height = window(fig)
    return x[0] * width, (1 - y[1]) * height, x[1] * width, (1 - y[0]) * height


@pytest.mark.parametrize(("n_layers", "n_heads"), some([(80, 64), (2, 2), (6, 8), (12, 12)], in_ci=1))
def test_overlap_map_in_the_browser(n_layers: int, n_heads: int, browser: Browser, tmp_path: Path) -> None:
    fig = overlap_map(mixed_overlap(n_layers, n_heads), title="Denoising patch")
    page = write(fig, tmp_path / "map.html")
    hovers = (("xy", 1, 0), ("x3y3", 0, 1))
    seen = measure(browser, page, size=window(fig), hovers=hovers)
    texts = seen["texts"]

    assert seen["problems"] == []
    assert seen["requests"] == []
    assert overlapping(texts) == []
    assert all(t["left"] >= 0 and t["right"] <= window(fig)[0] and t["bottom"] <= window(fig)[1] for t in texts)

    first, second = panel_box(fig, 1), panel_box(fig, 2)
    second_head_name = second[0] - 40  # the name and ticks of the second panel's head axis
    legend = [t for t in texts if t["left"] > first[2] and t["right"] < second_head_name and t["top"] > first[1] - 5]
    assert [t["text"] for t in sorted(legend, key=lambda t: t["top"])] == LEGEND

    titles = [t for t in texts if t["text"] in PANELS and t["bottom"] <= first[1]]
    assert [t["text"] for t in sorted(titles, key=lambda t: t["left"])] == PANELS
    assert [sum(t["text"] == name for t in texts) for name in ("layer", "head")] == [len(PANELS), 1]

    everything, one = seen["hovers"]
    assert everything.startswith("L1H0: ")
    assert all(f"{name}: effect {0.1 * i + 0.01:.3f} [" in everything for i, name in enumerate(ICL))
    assert one.startswith("L0H1: ")
    assert "Knowledge: effect 0.101 [0.081, 0.121], q " in one
    assert "Linguistic: effect" not in one


@pytest.mark.parametrize(("figure", "width"), some([(overlap_map, 1000), (ov_map, 1000), (overlap_map, 1400)], in_ci=1))
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


def test_lines_part_the_cells_of_black_heads(browser: Browser, tmp_path: Path) -> None:
    nothing = np.zeros((1, 2, 6, 8))
    fig = always_any(gates_of(nothing, nothing, datasets=["one"]), layout="paper")
    pixels = screenshot(browser, write(fig, tmp_path / "gates.html"), size=window(fig))
    left, top, right, bottom = panel_box(fig, 1)
    width, height = round(right - left) // 8, round(bottom - top) // 6
    across = pixels[round(top) + height // 2, round(left) : round(right)].astype(int).max(-1)
    down = pixels[round(top) : round(bottom), round(left) + width // 2].astype(int).max(-1)
    for line, step in ((across, width), (down, height)):
        light = np.flatnonzero(line > 200)
        assert sorted({round(place / step) for place in light}) == list(range(1, len(line) // step))
        assert (line[step // 2 :: step] == 0).all()


def test_overlap_map_pixels(browser: Browser, tmp_path: Path) -> None:
    # Letters would cover part of the colour.
    fig = overlap_map(mixed_overlap(6, 8), letters="none")
    pixels = screenshot(browser, write(fig, tmp_path / "map.html"), size=window(fig))
    frame = data(fig)
    assert frame[~frame.hatched].groupby("panel").colour.nunique().max() >= 5
    for number, panel in enumerate(PANELS, start=1):
        left, top, right, bottom = panel_box(fig, number)
        for row in frame[frame.panel == panel].itertuples():
            x, y = left + (row.layer + 0.5) * (right - left) / 6, top + (row.head + 0.5) * (bottom - top) / 8
            expected = np.array([int(row.colour[i : i + 2], 16) for i in (1, 3, 5)])
            block = pixels[int(y) - 8 : int(y) + 8, int(x) - 8 : int(x) + 8].reshape(-1, 3).astype(int)
            equal = (np.abs(block - expected).max(axis=1) <= 2).mean()
            # A hatched cell shows its colour between the lines; any other shows nothing else.
            assert (0.3 < equal < 0.95) if row.hatched else equal == 1, (panel, row.name, equal)


@pytest.mark.parametrize(("n_layers", "n_heads"), some([(80, 64), (2, 2), (6, 8)], in_ci=1))
def test_head_grid_of_36_tasks_in_the_browser(n_layers: int, n_heads: int, browser: Browser, tmp_path: Path) -> None:
    tasks = [f"a_task_of_usual_length_{i}" for i in range(36)]
    draw, shape = np.random.default_rng(0), (36, n_layers, n_heads)
    effect, q_value = draw.normal(0, 0.05, shape), np.where(draw.random(shape) < 0.02, 0.001, 0.5)
    scores = scores_of(effect, tasks=tasks, belongs=np.repeat(list(ICL), 9).tolist(), q_value=q_value)
    fig = head_grid(scores, title="Noising patch")
    seen = measure(browser, write(fig, tmp_path / "grid.html"), size=window(fig), hovers=(("xy", 1, 0),))
    texts = seen["texts"]

    assert seen["problems"] == []
    assert seen["requests"] == []
    assert overlapping(texts) == []
    assert window(fig)[0] <= 1440
    assert all(t["left"] >= 0 and t["right"] <= window(fig)[0] and t["bottom"] <= window(fig)[1] for t in texts)
    shown = [t["text"] for t in texts]
    assert set(tasks) <= set(shown)
    assert [text for text in shown if text in ICL] == list(ICL)
    assert seen["hovers"][0].startswith(f"L1H0 {tasks[0]}")
    assert f"effect {effect[0, 1, 0]:.3f}".replace("-", "−") in seen["hovers"][0].replace("-", "−")
