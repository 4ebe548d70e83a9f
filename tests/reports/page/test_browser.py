"""The report as somebody meets it who opens the file: no network, keyboard or mouse, light or dark, wide or narrow."""

import warnings
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser
from reports.page.browser import Tab

import headcats as hc
from headcats.errors import StatisticsWarning
from headcats.results.descriptors import DESCRIPTORS

pytestmark = pytest.mark.ci

PLOTS = "figure[data-figure]"
HEAD = (0, 0)  # the one that counts


@pytest.fixture(scope="session")
def scores(finished: Path):
    """What the panel of a head has to show."""
    results = hc.load(finished)
    return {
        label: hc.score(results, method=label, metric="logit_diff") for label in ("denoising_patch", "mean_ablation")
    }


def centre(tab: Tab, figure: str, layer: int, head: int) -> tuple[float, float]:
    """Where a head of the first panel of a figure lies in the window."""
    area = tab.page.locator(f"#figure-{figure} .nsewdrag").first
    area.scroll_into_view_if_needed()
    box = area.bounding_box()
    assert box is not None
    n_layers, n_heads = tab.page.evaluate(
        f"(() => {{ const {{ xaxis, yaxis }} = document.querySelector('#figure-{figure} .plot').layout;"
        "return [xaxis.range[1] - xaxis.range[0], Math.abs(yaxis.range[1] - yaxis.range[0])]; })()"
    )
    return box["x"] + (layer + 0.5) / n_layers * box["width"], box["y"] + (head + 0.5) / n_heads * box["height"]


def panel_rows(tab: Tab) -> list[list[str]]:
    """Cells of every row of the tables in the panel, without the minus sign's and the mark's typography."""
    rows = tab.page.locator("#head tbody tr").all()
    return [
        [" ".join(cell.split()).replace("−", "-") for cell in row.locator("th, td").all_inner_texts()] for row in rows
    ]


def test_a_click_on_a_head_shows_its_numbers(tab: Tab, scores):
    for layer, head in (HEAD, (1, 2)):
        tab.page.mouse.click(*centre(tab, "overlap_map", layer, head))
        assert tab.page.inner_text("#head-name") == f"L{layer}H{head}"
        shown = {row[0].removesuffix(" ✓"): row[1:] for row in panel_rows(tab)}
        for task in scores["denoising_patch"]["task"].values.tolist():
            for place, method in enumerate(scores):
                one = scores[method].sel(task=task, layer=layer, head=head)
                effect, low, _, high, _, q = shown[task][place].replace(",", "").split()
                # Three digits of what is kept to four.
                kept = [float(one[name]) for name in ("effect", "low", "high")]
                assert [float(text) for text in (effect, low, high)] == pytest.approx(kept, abs=6e-4)
                if one.doubtful:
                    assert q == "–"
                else:
                    assert float(q) == pytest.approx(float(one.q_value), rel=0.06)


def test_the_panel_says_what_the_head_is_and_which_are_of_its_kind(tab: Tab, finished: Path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StatisticsWarning)
        members = hc.categorize(hc.score(hc.load(finished), method="denoising_patch", metric="logit_diff"))
    tab.page.locator("button[data-head=L0H0]").first.click()
    said = tab.page.inner_text("#head-body")
    mine = members.sel(layer=0, head=0)
    inside = [str(name) for name in mine["category"].values[(mine["member"] == 1).values]]
    assert said.startswith(f"In {', '.join(inside)}." if inside else "In no category.")
    assert "Neighbours of" in said
    by_category = {row[0]: row for row in panel_rows(tab)[: mine.sizes["category"]]}
    for name in mine["category"].values.tolist():
        verdict = {1: "in", 0: "undecided", -1: "out"}[int(mine["member"].sel(category=name))]
        if bool(np.isfinite(mine["effect"].sel(category=name))):
            assert by_category[name][-1] in (verdict, "suppressing")


def test_the_panel_says_what_the_head_does(tab: Tab, finished: Path):
    described = hc.load(finished)["_descriptors"].to_dataset()
    tab.page.locator("button[data-head=L0H0]").first.click()
    shown = {row[0].removesuffix(" ✓"): row for row in panel_rows(tab)}
    for name, about in DESCRIPTORS.items():
        if name != "direct_logit":
            _, value, unit = shown[about.label]
            kept = float(described[name].sel(layer=0, head=0))
            assert unit == about.unit
            assert value == "–" if np.isnan(kept) else float(value) == pytest.approx(kept, abs=2e-3)
    for task in described["task"].values.tolist():
        kept = float(described["direct_logit"].sel(task=task, layer=0, head=0))
        assert float(shown[task][-1]) == pytest.approx(kept, abs=3e-3)
    missing = described["copying"].attrs.get("missing")
    assert missing is None or missing in tab.page.inner_text("#head-body")


def test_the_explorer_draws_descriptors_on_a_scale_with_both_signs(tab: Tab, finished: Path):
    described = hc.load(finished)["_descriptors"].to_dataset()
    tab.page.select_option("#explorer-block", label="direct logit by task")
    tab.page.select_option("#explorer-row", label="always_b")
    drawn = tab.page.evaluate("document.getElementById('explorer-plot').data[0]")
    assert drawn["zmin"] == -drawn["zmax"] < 0
    expected = described["direct_logit"].sel(task="always_b").transpose("head", "layer").values
    np.testing.assert_allclose(np.array(drawn["z"], dtype=float), expected, atol=2e-3)
    tab.page.select_option("#explorer-block", label="descriptors (share of attention) by descriptor")
    assert tab.page.evaluate("document.getElementById('explorer-plot').data[0].zmin") == 0


def test_the_keyboard_reaches_heads_and_leaves_them(tab: Tab):
    first = tab.page.locator("button[data-head]").first
    first.focus()
    tab.page.keyboard.press("Enter")
    assert tab.page.inner_text("#head-name") == first.inner_text()
    assert tab.page.evaluate("document.activeElement.id") == "head"
    tab.page.keyboard.press("Escape")
    assert not tab.page.is_visible("#head")
    assert tab.page.locator(":focus").get_attribute("data-head") == first.inner_text()


@pytest.mark.parametrize("width", [1100, 390])
def test_captions_in_the_panel_can_be_read_without_scrolling(browser: Browser, page: Path, width: int):
    """Where a table is wider than the panel, its caption is not."""
    with Tab.on(browser, page, width=width, address="#L1H2") as tab:
        captions, shown, is_wide = tab.page.evaluate(
            """() => {
              const panel = document.getElementById("head");
              const captions = [...panel.querySelectorAll("caption")].map((one) => one.getBoundingClientRect().right);
              const wide = [...panel.querySelectorAll(".wide")].some((one) => one.scrollWidth > one.clientWidth);
              return [captions, panel.getBoundingClientRect().left + panel.clientWidth, wide];
            }"""
        )
        assert is_wide
        assert max(captions) <= shown


@pytest.mark.parametrize("typed", ["L1H3", "1.3", " l1 h3 "])
def test_a_head_can_be_asked_for_by_name(tab: Tab, typed: str):
    tab.page.fill("#find-head", typed)
    tab.page.keyboard.press("Enter")
    assert tab.page.inner_text("#head-name") == "L1H3"
    assert tab.page.url.endswith("#L1H3")


def test_a_head_that_is_not_there_is_said(tab: Tab):
    tab.page.fill("#find-head", "L7H0")
    tab.page.keyboard.press("Enter")
    said = tab.page.inner_text("#find-said")
    assert "no such head" in said
    assert "layers 0 to 1," in said
    assert not tab.page.is_visible("#head")


def test_an_address_with_a_head_opens_it(browser: Browser, page: Path):
    with Tab.on(browser, page, width=1440, address="#L1H2") as tab:
        assert tab.page.inner_text("#head-name") == "L1H2"


def test_another_address_shows_another_head_and_a_section_none(tab: Tab):
    tab.page.evaluate("location.hash = '#L0H3'")
    tab.page.wait_for_function("document.getElementById('head-name').textContent === 'L0H3'")
    tab.page.evaluate("location.hash = '#L1H1'")
    tab.page.wait_for_function("document.getElementById('head-name').textContent === 'L1H1'")
    tab.page.evaluate("location.hash = '#evidence'")
    tab.page.wait_for_function("document.getElementById('head').hidden")


def test_what_is_no_name_of_a_head_is_told_how_to_write_one(tab: Tab):
    tab.page.fill("#find-head", "H6")
    tab.page.keyboard.press("Enter")
    assert tab.page.inner_text("#find-said") == "Write a head as L0H0."


def test_the_bar_says_where_it_stands_for_more(tab: Tab):
    tab.page.select_option("#explorer-block", label="denoising_patch@last by task")
    z, limit, ticks = tab.page.evaluate(
        "(({ z, zmax, colorbar }) => [z, zmax, colorbar.ticktext])(document.getElementById('explorer-plot').data[0])"
    )
    largest = np.abs(np.array(z, dtype=float)).max()
    assert ticks[-1].endswith("+") == (largest > 1.001 * limit)
    assert ticks[0].startswith("≤") == (largest > 1.001 * limit)


def test_the_theme_follows_the_system_and_the_button(browser: Browser, page: Path):
    with Tab.on(browser, page, width=1440, dark=True) as tab:
        paper = "document.querySelector('#figure-overlap_map .plot').layout.paper_bgcolor"
        ground = "getComputedStyle(document.body).backgroundColor"
        dark = [tab.page.evaluate(one) for one in (paper, ground)]
        tab.page.click("#theme")
        tab.page.wait_for_function(f"{paper} !== '{dark[0]}'")
        light = [tab.page.evaluate(one) for one in (paper, ground)]
        assert light == ["rgb(255,255,255)", "rgb(255, 255, 255)"]
        # What was chosen is remembered.
        tab.page.reload()
        assert tab.page.evaluate(ground) == light[1]


def test_the_explorer_draws_what_is_chosen(tab: Tab, scores):
    blocks = tab.page.locator("#explorer-block option").all_inner_texts()
    assert blocks[0].split(" by ") == ["denoising_patch@last", "task"]
    tab.page.select_option("#explorer-block", label="mean_ablation@all by task")
    tab.page.select_option("#explorer-row", label="always_b")
    drawn = tab.page.evaluate("document.getElementById('explorer-plot').data[0].z")
    expected = scores["mean_ablation"].effect.sel(task="always_b").transpose("head", "layer").values
    np.testing.assert_allclose(np.array(drawn, dtype=float), expected, atol=1e-4)
    best = np.unravel_index(np.abs(expected).argmax(), expected.shape)
    assert tab.page.locator("#explorer-top button").first.inner_text() == f"L{best[1]}H{best[0]}"


@pytest.mark.parametrize("width", [390, 1440])
def test_nothing_sticks_out_of_the_window(browser: Browser, page: Path, width: int):
    with Tab.on(browser, page, width=width) as tab:
        assert tab.page.evaluate("document.documentElement.scrollWidth") == width
        tab.page.locator("button[data-head=L0H0]").first.click()
        assert tab.page.evaluate("document.documentElement.scrollWidth") == width


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [390, 1440])
def test_axe_finds_nothing_serious(browser: Browser, page: Path, width: int, dark: bool):
    with Tab.on(browser, page, width=width, dark=dark) as tab:
        assert tab.serious_findings() == []
        tab.page.locator("button[data-head=L0H0]").first.click()
        assert tab.serious_findings() == []


def test_paper_is_white_and_holds_every_figure(browser: Browser, page: Path):
    with Tab.on(browser, page, width=1440, dark=True) as tab:
        n = tab.page.locator(PLOTS).count()
        assert tab.page.locator(f"{PLOTS} .js-plotly-plot").count() == n > 2
        tab.page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert tab.page.locator("html").get_attribute("data-theme") == "light"
        assert tab.page.locator("details:not([open])").count() == 0
        tab.page.emulate_media(media="print")
        assert not tab.page.is_visible("nav")
        tab.page.evaluate("dispatchEvent(new Event('afterprint'))")
        assert tab.page.locator("html").get_attribute("data-theme") == "dark"
        assert len(tab.page.pdf()) > 20_000


def test_tables_are_there_without_scripts(browser: Browser, page: Path):
    context = browser.new_context(java_script_enabled=False, offline=True)
    tab = context.new_page()
    tab.goto(page.resolve().as_uri())
    assert tab.is_visible("noscript p")
    assert tab.locator("#heads table").first.is_visible()
    context.close()
