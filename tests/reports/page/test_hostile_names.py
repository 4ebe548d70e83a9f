"""Pages show any name as text: of categories, tasks, suite and model, in tables, figures, panels and attributes."""

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from covering import some
from hostile_names import GROUPS, hostile_run, seen, task_name, unseen
from reports.page.saved_runs import list_attention

import headcats as hc
from headcats.reports.page.markup import _sentence
from headcats.results.finding import line
from headcats.results.visible import shortened

_OF_BROWSER = "\n\t\u00a0"  # between cells of tables, and in our captions


class Reader(HTMLParser):
    """The texts and elements of a page as a browser finds them, without what scripts and styles hold."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.texts, self.elements, self._within = list[str](), list[tuple[str, dict[str, str | None]]](), ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._within = tag
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self._within not in ("script", "style"):
            self.texts.append(data)

    def handle_endtag(self, tag: str) -> None:
        self._within = ""


def looks_of(names: tuple[str, ...]) -> dict[str, Any]:
    """A head whose task, query and tokens have these names; its last token looks at one of them."""
    task, item, token, role = (*names, *names)[2:6]
    side = {"n": 1, "shades": "AA==", "from": token, "looks": [[f"{item} ({role})", 0.65]]}
    return {"L0H1": {"task": task, "item": item, "darkest": 0.7, "clean": side, "corrupted": side}}


@pytest.fixture(scope="module", params=some(range(len(GROUPS)), 1))
def group(request: pytest.FixtureRequest) -> tuple[str, ...]:
    """Pages, figures and templates; terminals and files only by hand."""
    return GROUPS[request.param]


@pytest.fixture(scope="module")
def folder(group: tuple[str, ...], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Their results in a folder with such a name, too, with where a head looks."""
    home = tmp_path_factory.mktemp("hostile") / "javascript:alert(6)#?%00<b>"
    hostile_run(home, group)
    list_attention(home, {group[0]: looks_of(group)})
    return home


@pytest.fixture(scope="module")
def report(folder: Path) -> Path:
    """Beside the folder, so that links begin with its name."""
    return hc.report(folder, folder.parent / "report.html")


def test_backticks_of_a_name_are_text_and_those_of_a_sentence_are_code() -> None:
    finding = line("methods.not_scored", label="a `b` c", reason="see `headcats run`")
    assert re.findall("<code>(.*?)</code>", _sentence(finding)) == ["a `b` c", "headcats run"]
    assert str(finding).startswith("`a `b` c` ")
    linked = line("methods.not_scored", label="[tasks](#tasks) \ufdd0\ufdd1", reason="\ufdd0\ufdd1")
    assert "<a " not in _sentence(linked)
    assert _sentence(linked).count("\\ufdd0\\ufdd1") == 2
    assert "[tasks](#tasks)" in _sentence(linked)
    within = line("answer.joint", label="x", size=line("text.untitled"))
    named = line("caution.missing", n=2, files=["`a`", within])
    assert _sentence(named).count("<code>") == 2  # of the finding within, and of its own
    assert "`a`" in _sentence(named)


def test_the_page_holds_names_as_text_alone(group: tuple[str, ...], report: Path) -> None:
    tasks = [seen(f"{task_name(name)}{place}_a") for place, name in enumerate(group)]
    read = Reader(report.read_text(encoding="utf-8"))
    text = "".join(read.texts)
    assert not unseen(text)
    tags = {tag for tag, _ in read.elements}
    assert not tags & {"b", "i", "img", "br"}
    # Those of bars, and of figures as they are seen without scripts.
    assert all("viewbox" in attrs for tag, attrs in read.elements if tag == "svg")
    assert not [attrs for _, attrs in read.elements if any(name.startswith("on") for name in attrs)]
    assert all(not (attrs.get("href") or "").startswith("javascript:") for _, attrs in read.elements)
    # A head in a name is a button, and code in backticks is code: neither is lost.
    for name in [*map(seen, group[:4]), *tasks]:
        assert name in seen(text)
    values = [value for _, attrs in read.elements for name, value in attrs.items() if value and name != "content"]
    assert not set("".join(values)) & {char for name in group for char in unseen(name)}


LOOK_AT_ALL = """async () => {
  document.querySelector('a[data-tab="tab-tasks"]').click();
  for (const folded of document.querySelectorAll("details")) folded.open = true;
  const texts = [document.body.innerText];
  document.querySelector("[data-head]").click();
  texts.push(document.getElementById("head").innerText);
  texts.push(...[...document.querySelectorAll("svg text")].map((text) => text.textContent));
  return texts.join("\\n");
}"""


def test_a_browser_shows_the_report_as_text(group: tuple[str, ...], report: Path, opened) -> None:
    clean = looks_of(group)["L0H1"]["clean"]
    with opened(report, width=1400) as tab:
        text = tab.page.evaluate(LOOK_AT_ALL)
        for name in group:
            assert seen(shortened(name)[:-1]) in seen(text)
        tab.page.evaluate("location.hash = '#L0H1'")
        tab.page.wait_for_selector("#head canvas")
        looks = tab.page.inner_text("#head .looks >> nth=0")
        token, looked_at = (re.escape(seen(part)) for part in (clean["from"], clean["looks"][0][0]))
        assert re.match(rf"{token}.*{looked_at}0\.65", seen(looks))
        assert tab.injected() == []
        assert not unseen(text + looks, keep=_OF_BROWSER)
