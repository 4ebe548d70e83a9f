"""The report as somebody meets it who opens the file: no network, keyboard or mouse, light or dark, wide or narrow."""

import csv
import io
import warnings
from pathlib import Path

import numpy as np
import pytest

import headcats as hc
from headcats.base.errors import StatisticsWarning

PLOTS = "figure[data-figure]"
HEAD = (0, 0)  # the one that counts
PAPER = 690  # pixels between the margins of A4


@pytest.fixture(scope="session")
def scores(counting_run: Path):
    """What the panel of a head has to show."""
    results = hc.load(counting_run)
    return {
        label: hc.score(results, method=label, metric="logit_diff") for label in ("denoising_patch", "mean_ablation")
    }


def centre(tab, figure: str, layer: int, head: int) -> tuple[float, float]:
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


def open_tab(tab, name: str) -> None:
    """One of the tabs below the first screen."""
    tab.page.click(f"nav a[data-tab='{name}']")
    assert tab.page.is_visible(f"#{name}")


def open_numbers(tab) -> None:
    """The folded numbers of the panel."""
    tab.page.evaluate("document.querySelector('#head details').open = true")
    tab.page.wait_for_selector("#head details table")


def panel_rows(tab) -> list[list[str]]:
    """Cells of every row of the tables in the panel, without the minus sign's and the mark's typography."""
    rows = tab.page.locator("#head tbody tr").all()
    return [
        [" ".join(cell.split()).replace("−", "-") for cell in row.locator("th, td").all_inner_texts()] for row in rows
    ]


def test_a_click_on_a_head_shows_its_numbers(tab, scores):
    for layer, head in (HEAD, (1, 2)):
        tab.page.mouse.click(*centre(tab, "hero_0", layer, head))
        assert tab.page.inner_text("#head-name") == f"L{layer}H{head}"
        open_numbers(tab)
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


def test_the_panel_says_what_the_head_is_and_which_are_of_its_kind(tab, scores):
    members = judged(scores["denoising_patch"])
    tab.page.locator("button[data-head=L0H0]").first.click()
    mine = members.sel(layer=0, head=0)
    inside = [str(name) for name in mine["category"].values[(mine["member"] == 1).values]]
    said = tab.page.locator("#head .verdicts li").first.inner_text()
    assert said.partition(";")[0] == f"denoising patch: {', '.join(inside) or 'no category'}"
    open_numbers(tab)
    by_category = {row[0]: row for row in panel_rows(tab)[: mine.sizes["category"]]}
    for name in mine["category"].values.tolist():
        verdict = {1: "in", 0: "undecided", -1: "out"}[int(mine["member"].sel(category=name))]
        if bool(np.isfinite(mine["effect"].sel(category=name))):
            assert by_category[name][-1] in (verdict, "suppressing")
    tab.page.select_option("#map-choice", label="mean ablation")
    effects = judged(scores["mean_ablation"])["effect"].sel(layer=0, head=0).dropna("category")
    shown = {row[0]: row[1] for row in panel_rows(tab)[: mine.sizes["category"]]}
    assert shown != {name: row[1] for name, row in by_category.items()}
    for name, effect in zip(effects["category"].values.tolist(), effects.values.tolist(), strict=True):
        assert float(shown[name]) == pytest.approx(effect, abs=6e-4)


def test_the_keyboard_reaches_heads_and_leaves_them(tab):
    first = tab.page.locator("button[data-head]").first
    first.focus()
    tab.page.keyboard.press("Enter")
    assert tab.page.inner_text("#head-name") == first.inner_text()
    assert tab.page.evaluate("document.activeElement.id") == "head"
    tab.page.keyboard.press("Escape")
    assert not tab.page.is_visible("#head")
    assert tab.page.locator(":focus").get_attribute("data-head") == first.inner_text()


def test_a_head_can_be_asked_for_by_name(tab):
    for typed, answers in (("L7H0", ("no such head", "layers 0 to 1,")), ("H6", ("Nothing",))):
        tab.page.fill("#find-text", typed)
        tab.page.keyboard.press("Enter")
        assert all(answer in tab.page.inner_text("#find-said") for answer in answers)
        assert not tab.page.is_visible("#head")
    for typed, name in (("L1H3", "L1H3"), ("1.2", "L1H2"), (" l1 h3 ", "L1H3")):
        tab.page.fill("#find-text", typed)
        tab.page.keyboard.press("Enter")
        assert tab.page.inner_text("#head-name") == name
        assert tab.page.url.endswith(f"#{name}")
        tab.page.keyboard.press("Escape")


def test_back_and_forward_go_through_what_was_chosen_and_an_address_shows_another(tab):
    tab.page.locator("button[data-head=L0H0]").first.click()
    open_tab(tab, "tab-tasks")
    tab.page.go_back()
    tab.page.wait_for_function("document.getElementById('tab-tasks').hidden")
    assert tab.page.inner_text("#head-name") == "L0H0"
    tab.page.go_back()
    tab.page.wait_for_function("document.getElementById('head').hidden")
    tab.page.go_forward()
    tab.page.wait_for_function("!document.getElementById('head').hidden")
    tab.page.evaluate("location.hash = '#L1H1'")
    tab.page.wait_for_function("document.getElementById('head-name').textContent === 'L1H1'")
    tab.page.evaluate("location.hash = '#evidence'")
    tab.page.wait_for_function("document.getElementById('head').hidden")
    assert tab.page.is_visible("#evidence")


def test_an_address_holds_everything_that_was_chosen(tab, opened, page: Path):
    tab.page.select_option("#map-choice", label="mean ablation")
    tab.page.click("[data-view=Knowledge]")
    tab.page.fill("#find-text", "always_b")
    tab.page.keyboard.press("Enter")
    open_tab(tab, "tab-sharing")
    address = "#" + tab.page.url.partition("#")[2]
    with opened(page, address=address) as other:
        assert other.page.input_value("#map-choice") == tab.page.input_value("#map-choice") == "2"
        assert other.page.get_attribute(".map:not([hidden])", "data-map") == "2"
        assert other.page.get_attribute("[data-view=Knowledge]", "aria-pressed") == "true"
        assert other.page.is_visible("#tab-sharing")
        assert marks(other, "head_tasks_2") == marks(tab, "head_tasks_2") != []
    with opened(page, address="#head=%") as malformed:  # typed by hand: "%" begins a code
        assert not malformed.page.is_visible("#head")


def marks(tab, figure: str) -> list[list[float]]:
    """Ends along x of the rectangles in a figure that show what is chosen."""
    return tab.page.evaluate(
        f"(document.querySelector('#figure-{figure} .plot').layout.shapes ?? []).map(({{ x0, x1 }}) => [x0, x1])"
    )


def test_a_head_is_marked_in_every_figure_that_shows_heads(tab):
    tab.page.locator("button[data-head=L0H0]").first.click()
    for figure in ("hero_0", "head_tasks_0"):
        tab.page.wait_for_function(f"document.querySelector('#figure-{figure} .plot').layout.shapes?.length === 1")
    assert marks(tab, "hero_0") == [[-0.5, 0.5]]


def test_the_panel_beside_the_page_keeps_the_focus_and_the_next_head_is_a_key_away(tab):
    tab.page.locator("button[data-head=L0H0]").first.click()
    panel, main = (tab.page.locator(name).bounding_box() for name in ("#head", "main"))
    assert main["x"] + main["width"] <= panel["x"] + 1
    n = tab.page.locator("#head button, #head a, #head summary, #head [tabindex='0']").count()
    for key in ["Tab"] * (n + 2) + ["Shift+Tab"]:
        tab.page.keyboard.press(key)
        assert tab.page.evaluate("document.getElementById('head').contains(document.activeElement)")
    for key, name in (("ArrowRight", "L0H1"), ("ArrowLeft", "L0H0"), ("ArrowLeft", "L1H3")):
        tab.page.keyboard.press(key)
        assert tab.page.inner_text("#head-name") == name


def test_a_table_is_sorted_filtered_and_saved(tab):
    table = "#heads > .wide table"
    column = f"{table} tbody tr:not([hidden]) td.number"
    tab.page.click(f"{table} .sort:text-is('effect')")
    effects = [
        float(row.locator("td.number").nth(1).inner_text()) for row in tab.page.locator(f"{table} tbody tr").all()
    ]
    assert effects == sorted(effects, reverse=True)
    tab.page.click(f"{table} .sort:text-is('effect')")
    again = [float(row.locator("td.number").nth(1).inner_text()) for row in tab.page.locator(f"{table} tbody tr").all()]
    assert again == sorted(effects)
    tab.page.fill("#heads [type=search]", "Linguistic")
    rows = tab.page.locator(f"{table} tbody tr:not([hidden])").all_inner_texts()
    assert 0 < len(rows) < len(effects)
    assert all("Linguistic" in row for row in rows)
    assert tab.page.locator(column).count()
    with tab.page.expect_download() as download:
        tab.page.click("#heads .table-tools button:text-is('CSV')")
    saved = list(csv.DictReader(io.StringIO(download.value.path().read_text(encoding="utf-8"))))
    assert [row["category"] for row in saved] == ["Linguistic"] * len(rows)


def test_the_file_of_all_heads_has_every_head_and_category(tab, scores):
    with tab.page.expect_download() as download:
        tab.page.click("#heads button:text-is('CSV of all heads')")
    saved = list(csv.DictReader(io.StringIO(download.value.path().read_text(encoding="utf-8"))))
    members = judged(scores["denoising_patch"])
    assert len(saved) == members["member"].size
    for row in saved:
        layer, head = map(int, row["head"][1:].split("H"))
        one = members.sel(category=row["category"], layer=layer, head=head)
        if row["effect"]:
            assert float(row["effect"]) == pytest.approx(float(one["effect"]), abs=6e-4)


def judged(scores):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StatisticsWarning)
        return hc.categorize(scores)


def test_a_figure_is_saved_as_a_picture(tab):
    for format, start in {"PNG": b"\x89PNG", "SVG": b"<svg"}.items():
        with tab.page.expect_download() as download:
            tab.page.click(f"#figure-hero_0 .figure-tools button:text-is('{format}')")
        assert download.value.path().read_bytes().startswith(start)
    # Within the page, from the figure to the file.
    tab.requests = [address for address in tab.requests if not address.startswith(("blob:", "data:"))]


def test_the_theme_follows_the_system_and_the_button(opened, page: Path):
    with opened(page, dark=True) as tab:
        tab.page.locator("button[data-head=L0H0]").first.click()
        tab.page.wait_for_function("document.querySelector('#head .js-plotly-plot')")
        paper = "document.querySelector('#figure-hero_0 .plot').layout.paper_bgcolor"
        in_panel = "document.querySelector('#head .js-plotly-plot').layout.paper_bgcolor"
        ground = "getComputedStyle(document.body).backgroundColor"
        dark = [tab.page.evaluate(one) for one in (paper, ground)]
        before = tab.page.evaluate(in_panel)
        tab.page.click("#theme")
        tab.page.wait_for_function(f"{paper} !== '{dark[0]}' && {in_panel} !== '{before}'")
        light = [tab.page.evaluate(one) for one in (paper, ground)]
        assert light == ["rgb(255,255,255)", "rgb(255, 255, 255)"]
        # What was chosen is remembered.
        tab.page.reload()
        assert tab.page.evaluate(ground) == light[1]


@pytest.mark.parametrize(("width", "dark"), [(1440, False), (390, True)])
def test_nothing_sticks_out_of_the_window_and_axe_finds_nothing_above_minor(opened, page: Path, width: int, dark: bool):
    with opened(page, width=width, dark=dark) as tab:
        assert tab.page.evaluate("document.documentElement.scrollWidth") == width
        assert tab.weighty_findings() == []
        tab.page.locator("button[data-head=L0H0]").first.click()
        assert tab.page.evaluate("document.documentElement.scrollWidth") == width
        open_numbers(tab)
        assert tab.weighty_findings() == []
        tab.page.keyboard.press("Escape")
        for link in tab.page.locator("nav a[data-tab]").all():
            link.click()
            tab.page.evaluate("for (const folded of document.querySelectorAll('main details')) folded.open = true")
            assert tab.weighty_findings(within=f"#{link.get_attribute('data-tab')}") == []


def test_paper_is_white_and_holds_every_figure(opened, page: Path):
    with opened(page, dark=True) as tab:
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
    with opened(page) as tab:
        tab.page.set_viewport_size({"width": PAPER, "height": 900})
        tab.page.emulate_media(media="print")
        tab.page.evaluate("dispatchEvent(new Event('beforeprint'))")
        widths = tab.page.evaluate(
            "[...document.querySelectorAll('main table, main .around')].map((one) => one.getBoundingClientRect().right)"
        )
        assert max(widths) <= PAPER


def test_tables_are_there_without_scripts(browser, page: Path):
    context = browser.new_context(java_script_enabled=False, offline=True)
    tab = context.new_page()
    tab.goto(page.resolve().as_uri())
    assert tab.is_visible("noscript p")
    # What is behind a tab otherwise, and a picture of every figure.
    assert tab.locator("#heads table").first.is_visible()
    assert tab.locator("#run pre").first.is_visible()
    figures = tab.locator("figure[data-figure]")
    for place in range(figures.count()):
        figure = figures.nth(place)
        folded = figure.evaluate("(figure) => Boolean(figure.closest('details'))")
        assert figure.locator("noscript > svg, .plot > svg").first.is_visible() or folded
    assert tab.locator(".map").count() == 3
    assert all(tab.locator(".map").nth(place).is_visible() for place in range(3))
    assert not tab.is_visible(".switches")
    context.close()


def test_figures_are_drawn_where_blobs_have_no_addresses(browser, page: Path):
    context = browser.new_context(offline=True)
    tab = context.new_page()
    tab.add_init_script("URL.createObjectURL = () => { throw new DOMException('forbidden'); };")
    tab.goto(page.resolve().as_uri())
    tab.wait_for_selector("#figure-hero_0 .main-svg")
    context.close()
