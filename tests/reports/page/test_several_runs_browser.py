"""The page of several runs in a browser: one switch for all panels, linked heads, rows that move."""

import json
import re

import pytest
from reports.page.synthetic_runs import PATCH, written_run

import headcats as hc

pytestmark = pytest.mark.filterwarnings("ignore::headcats.base.errors.StatisticsWarning")
MEMBERS = ([(0, 1), (1, 2), (2, 0)], [(0, 1), (1, 3), (2, 0)])


@pytest.fixture(scope="module")
def several(tmp_path_factory):
    home = tmp_path_factory.mktemp("browser")
    runs = [
        written_run(
            home / f"seed{seed}",
            {"Knowledge": heads, "Translation": heads},
            shape=(3, 4),
            methods=(PATCH, "mean_ablation@all"),
            seed=seed,
        )
        for seed, heads in enumerate(MEMBERS)
    ]
    return hc.report(runs, home / "page.html")


@pytest.fixture
def tab(opened, several):
    with opened(several) as found:
        yield found


def test_a_head_is_marked_in_every_run_and_its_panel_names_them(tab):
    tab.page.click("#side_by_side_heads button.head >> text=L1H2")
    tab.page.wait_for_selector("#head:not([hidden])")
    plot = "document.querySelector('figure[data-figure=runs_0] .plot')"
    tab.page.wait_for_function(f"{plot}.layout.shapes?.length === 2")
    boxes = json.loads(tab.page.evaluate(f"JSON.stringify({plot}.layout.shapes)"))
    assert {(box["x0"], box["y0"], box["xref"]) for box in boxes} == {(0.5, 1.5, "x"), (0.5, 1.5, "x2")}
    verdicts = tab.page.inner_text("#head .verdicts")
    assert re.search("seed0.*: Knowledge", verdicts)
    assert re.search("seed1.*: no category", verdicts)


def test_only_rows_that_move(tab):
    rows = tab.page.locator("#side_by_side_heads table").first.locator("tbody tr:visible")
    assert rows.count() == 8
    button = tab.page.locator("#side_by_side_heads").get_by_role("button", name="Moves only").first
    button.click()
    assert rows.count() == 4
    assert button.get_attribute("aria-pressed") == "true"
    button.click()
    assert rows.count() == 8


@pytest.mark.parametrize(("width", "dark"), [(1440, False), (390, True)])
def test_nothing_stands_in_the_way(opened, several, width, dark):
    with opened(several, width=width, dark=dark) as found:
        assert found.page.evaluate("document.documentElement.scrollWidth") == width
        assert found.weighty_findings() == []
