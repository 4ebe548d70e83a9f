"""Figures of joint methods in the browser."""

from pathlib import Path

import numpy as np
import pytest
from reports.page.saved_runs import gated_run, run_without_heads

import headcats as hc

# Where heads 0 to 3 of layers 0 to 2 lie in the first panel of the figure: along x the layers, along y the heads.
PLACE = """([layer, head]) => {
  const plot = document.querySelector("#figure-always_any_0 .plot");
  const { xaxis, yaxis } = plot._fullLayout._plots.xy, box = plot.getBoundingClientRect();
  const scale = box.width / plot.layout.width;
  return [box.x + scale * (xaxis._offset + xaxis.l2p(layer)), box.y + scale * (yaxis._offset + yaxis.l2p(head))];
}"""
POINTED = """([layer, head]) => {
  const [cell] = document.querySelector("#figure-always_any_0 .plot")._hoverdata ?? [];
  return cell && cell.x === layer && cell.y === head;
}"""


@pytest.fixture(scope="module")
def gates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Report of a run of gates alone: two data sets, two seeds, 3 layers, 4 heads."""
    home = tmp_path_factory.mktemp("gates")
    return hc.report(gated_run(home / "results", np.random.default_rng(0).random((2, 2, 3, 4))))


@pytest.fixture
def gated(opened, gates: Path):
    """That report, opened."""
    with opened(gates) as found:
        yield found


def test_a_click_on_a_figure_of_a_joint_method_gives_that_head(gated):
    gated.page.click("nav a[data-tab='tab-method']")
    for layer, head in ((0, 3), (2, 1), (1, 0)):
        gated.page.locator("#figure-always_any_0").scroll_into_view_if_needed()
        x, y = gated.page.evaluate(PLACE, [layer, head])
        gated.page.mouse.move(x - 2, y)  # the label of a cell must not raise a warning either
        gated.page.wait_for_function(POINTED, arg=[layer, head])  # plotly looks where the pointer is every 50 ms
        gated.page.mouse.click(x, y)
        assert gated.page.inner_text("#head-name") == f"L{layer}H{head}"
        gated.page.keyboard.press("Escape")


def test_a_run_that_says_nothing_about_heads_asks_for_none(opened, tmp_path: Path):
    page = hc.report(run_without_heads(tmp_path / "results"))
    with opened(page, width=390, address="#L0H1") as tab:
        assert not tab.page.is_visible("#find")
        assert not tab.page.is_visible("#head")
