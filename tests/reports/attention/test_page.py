"""A page in a browser: it draws without a network, and says in tables what the pictures show."""

import itertools
import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from figures.chromium import drawn, errors
from playwright.sync_api import Browser

from headcats.models.head import Head
from headcats.reports.attention.chosen import Choice, Chosen, ShownHead
from headcats.reports.attention.examples import Example, Side
from headcats.reports.attention.page import Shared, view_page
from headcats.results.finding import line

HEADS = (
    ShownHead(Head(1, 6), "in", 0.214, 0.2, 0.23, 0.00017, ("capital",)),
    ShownHead(Head(0, 3), "undecided", 0.1, float("nan"), float("nan"), float("nan"), ()),
)
ITEM = "It<b>aly"
NOTE = "One task is too few."
LEFT_OUT = {"Linguistic": line("attention.no_numbers")}
TOKENS = ("<bos>", "France", "→", "Paris", "↵", "</script>", "→", "Rome")
PICTURES = 8
HIDDEN = "Math.max(...[...document.querySelectorAll('html, main')].map((at) => at.scrollWidth - at.clientWidth))"
DRAWN = f"document.querySelectorAll('canvas').length === {PICTURES}"
# Of each picture: how much of it has the colour of its darkest cells, and how wide it is shown.
LOOK = """[...document.querySelectorAll("canvas")].map((drawn) => {
  const at = drawn.getContext("2d").getImageData(0, 0, drawn.width, drawn.height).data;
  let dark = 0;
  for (let i = 0; i < at.length; i += 4) dark += at[i] === 8 && at[i + 1] === 48 && at[i + 2] === 107;
  return [drawn.closest("[id]").id, dark, drawn.getBoundingClientRect().width];
})"""


def side(peak: int, tokens: tuple[str, ...] = TOKENS, *, roles: bool = True) -> Side:
    """A prompt whose last token looks at token `peak` with .65, and at each of the others with .05."""
    n = len(tokens)
    weights = np.tril(np.ones((n, n))) / np.arange(1, n + 1)[:, None]
    weights[-1] = 0.35 / (n - 1)
    weights[-1, peak] = 0.65
    named = tuple(f"role{place}" for place in range(n)) if roles else ()
    return Side("<bos>France → Paris\n…", tokens, named, "Rome", 0.9, {one.head: weights for one in HEADS})


def example(task: str, **more: object) -> Example:
    given = {"right": True, "clean": side(3), "corrupted": side(1)} | more
    return Example(task, ITEM, "continent", "Rome", "Europe", **given)


def page(*shown: Example, notes: tuple[str, ...] = ()) -> str:
    chosen = Chosen("Knowledge", HEADS, ("capital", "continent"), line("attention.why_both", category="Knowledge"))
    choice = Choice("denoising_patch at last", "denoising_patch@last", "share of the gap", (chosen,), LEFT_OUT)
    files = {"Knowledge": "knowledge.html", "Translation": "translation.html"}
    return view_page(chosen, shown, Shared("mini", "icl", choice, files, notes))


@pytest.fixture(scope="module")
def text() -> str:
    return page(example("capital"), example("continent", right=False), notes=(NOTE,))


@pytest.fixture(scope="module")
def body(text: str) -> ElementTree.Element:
    """What stands in the page, without its scripts: well-formed, so that it can be read as a tree."""
    plain = re.sub(r"<(script|style)>.*?</\1>", "", text, flags=re.DOTALL)
    plain = re.sub(r"<meta ([^>]*)>", r"<meta \1/>", plain).partition("<!doctype html>")[2]
    return ElementTree.fromstring(plain)


def words(element: ElementTree.Element) -> str:
    return " ".join("".join(element.itertext()).split())


def test_it_draws_every_picture_asks_for_nothing_and_fits_a_narrow_window(
    text: str, browser: Browser, tmp_path: Path
) -> None:
    path = tmp_path / "view.html"
    path.write_text(text, encoding="utf-8")
    with drawn(browser, path, size=(1300, 900)) as tab:
        tab.page.wait_for_function(DRAWN)
        tab.page.wait_for_function(f"{LOOK}.every(([, dark]) => dark > 1000)")
        pictures = tab.page.evaluate(LOOK)
        assert tab.page.evaluate(HIDDEN) == 0
        tab.page.set_viewport_size({"width": 500, "height": 900})
        assert tab.page.evaluate(HIDDEN) == 0
        assert errors(tab) == []
        assert tab.requests == [path.as_uri()]
    heads, sides = ("L1H6", "L0H3"), ("clean", "corrupted")
    assert [one[0] for one in pictures] == [f"prompt-{n}-{h}-{s}" for n in (1, 2) for h in heads for s in sides]
    assert all(width > 400 for _, _, width in pictures)


def test_nothing_comes_from_elsewhere(text: str) -> None:
    assert not re.search(r'(src|href)="(https?:)?//', text)
    assert "<link" not in text
    assert "unpkg.com" not in text
    assert len(text) < 3_000_000
    assert text.count("var CircuitsVis=") == 1


def test_structure_for_readers_of_all_kinds(text: str, body: ElementTree.Element) -> None:
    assert text.startswith("<!doctype html>")
    assert (body.tag, body.get("lang")) == ("html", "en")
    assert '<meta name="viewport"' in text
    levels = [int(one.tag[1]) for one in body.iter() if re.fullmatch("h[1-6]", one.tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))
    for table in body.iter("table"):
        assert words(table.find("caption"))
        assert all(one.get("scope") == "col" and words(one) for one in table.find("thead").iter("th"))
        assert all(words(one) for one in table.find("tbody").iter("th"))
    drawn = [one for one in body.iter("div") if one.get("class") == "card"]
    assert len(drawn) == 8
    # The tables say the same.
    assert all(one.get("aria-hidden") == "true" for one in drawn)


def test_tables_say_where_the_last_token_looks(body: ElementTree.Element) -> None:
    first, *tables = body.iter("table")
    rows = [[words(cell) for cell in row] for row in first.iter("tr")]
    assert rows[1] == ["L1H6", "in", "0.21", "0.20 to 0.23", "0.00017", "1 of 2 tasks"]
    assert rows[2] == ["L0H3", "undecided", "0.10", "", "", "0 of 2 tasks"]
    assert len(tables) == 4
    rows = [[words(cell) for cell in row] for row in tables[0].iter("tr")]
    assert rows[0] == ["Rank", "Clean prompt", "weight", "Corrupted prompt", "weight"]
    assert rows[1] == ["1", "Paris 3, role3", "0.65", "France 1, role1", "0.65"]
    assert rows[6] == ["6 to 8", "the other 3 tokens", "0.15", "the other 3 tokens", "0.15"]
    caption = words(tables[0].find("caption"))
    assert caption.startswith("Where L1H6 looks")
    assert "last token of" in caption
    assert "prompt 1:" in caption


def test_long_prompts_say_what_is_not_drawn() -> None:
    long = tuple(f"t{place}" for place in range(300))
    text = page(example("capital", clean=side(3, long, roles=False), corrupted=side(299, long, roles=False)))
    assert "last 273 of 300 tokens" in text
    assert "0 at position 27;" in text
    # The table covers all tokens.
    assert re.search('class="token">t3</span> <[^>]*>3<', text)
    assert len(text) < 3_000_000
