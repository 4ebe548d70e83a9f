"""The site: one command, every public name with its words, pictures of a run, nothing fetched from elsewhere."""

import html
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from covering import some
from examples_run import SmallRun
from playwright.sync_api import Browser, Page
from public_names import NAMESPACES, PublicName, public_names

import headcats as hc
from headcats.base import registry

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
COMMAND = 'pip install -c constraints.txt -e ".[docs]" && mkdocs build --strict'


@pytest.fixture(scope="module")
def site(small_run: SmallRun, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", *COMMAND.partition("&& ")[2].split(), "--site-dir", str(folder)]
    environment = os.environ | {"HEADCATS_SITE_RUN": str(small_run.folder), "PYTHONPATH": str(ROOT)}
    built = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr[-4000:]
    return folder


def pages(site: Path) -> dict[str, str]:
    """Path -> HTML of every page that mkdocs wrote."""
    paths = [path for path in site.rglob("*.html") if "live" not in path.parts]
    return {path.relative_to(site).as_posix(): path.read_text(encoding="utf-8") for path in paths}


def page_of(public: PublicName) -> str:
    above = [name for name in (*NAMESPACES, "errors") if public.name.startswith(f"{name}.")]
    return f"reference/{max(above, key=len)}.html" if above else "reference/index.html"


def shown(text: str, public: PublicName) -> str:
    """The part of a page that is about a name, up to the next one."""
    (start,) = [match.start() for match in re.finditer(rf'<h\d id="headcats\.{re.escape(public.name)}"', text)]
    following = re.search(r'<h\d id="headcats\.', text[start + 10 :])
    return text[start : start + 10 + following.start()] if following else text[start:]


def words(part: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", "", part)).split())


def test_it_is_one_command() -> None:
    assert COMMAND in (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert COMMAND in (ROOT / "README.md").read_text(encoding="utf-8")
    assert "/site/" in (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()


def test_every_public_name_is_there_with_its_words(site: Path) -> None:
    texts = pages(site)
    missing, unparsed = [], []
    for public in public_names():
        part = words(shown(texts[page_of(public)], public))
        first = re.sub(r"\*\*|\*|`", "", public.docstring.split("\n")[0])
        if not first or " ".join(first.split()) not in re.sub(r"\*\*|\*|`", "", part):
            missing.append(public.name)
        # Sections that were not understood stand there as in the source.
        if re.search(r"(?<!Keyword )\bArgs:", part):
            unparsed.append(public.name)
    assert (missing, unparsed) == ([], [])


def test_types_are_written_as_users_write_them(site: Path) -> None:
    reference = "".join(text for name, text in pages(site).items() if name.startswith("reference/"))
    signatures = [words(part) for part in re.findall(r'class="[^"]*doc-signature.*?</pre>', reference, re.DOTALL)]
    assert len(signatures) > 150
    qualified = re.compile(r"headcats\.|xarray\.|collections\.abc|<(class|function)|(?<!xr\.)\bDataset\b")
    assert [part for part in signatures if qualified.search(part)] == []


def test_every_figure_has_a_picture_and_its_code(site: Path) -> None:
    gallery = pages(site)["gallery.html"]
    for name in registry.names("figure"):
        assert (site / "gallery" / f"{name}.svg").read_text(encoding="utf-8").startswith("<svg")
        assert f'src="gallery/{name}.svg"' in gallery
        assert f"hc.figures.{name}(" in words(gallery)


def test_tutorials_are_pages_with_their_code_and_pictures(site: Path) -> None:
    texts = pages(site)
    for notebook in (ROOT / "tutorials").glob("*.ipynb"):
        cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
        text = words(texts[f"tutorials/{notebook.stem}.html"])
        for cell in cells:
            if cell["cell_type"] == "code":
                assert " ".join("".join(cell["source"]).split()) in text
    for picture in (ROOT / "tutorials").rglob("*.svg"):
        assert (site / picture.relative_to(ROOT)).read_bytes() == picture.read_bytes()


def test_a_live_report_is_one_click_from_the_start(site: Path) -> None:
    assert 'href="live/report.html"' in pages(site)["index.html"]
    report = (site / "live" / "report.html").read_text(encoding="utf-8")
    assert hc.__version__ in report


def test_formulas_are_drawn_by_the_browser(site: Path) -> None:
    texts = pages(site)
    assert texts["methods.html"].count("<math") > 20
    for text in texts.values():
        assert "arithmatex" not in text
        assert "\\frac" not in text


def test_nothing_is_fetched_from_elsewhere(site: Path) -> None:
    for text in pages(site).values():
        assert not re.search(r"""(?:src|srcset)=["']?(?:https?:)?//|@import|url\(["']?(?:https?:)?//""", text)
        assert not re.search(r"<link(?![^>]+canonical)[^>]+href=[\"']?(?:https?:)?//", text)
    for style in (site / "assets").rglob("*.css"):
        assert not re.search(r"""url\(["']?(?:https?:)?//""", style.read_text(encoding="utf-8"))


def search(page: Page, word: str, *, answer: str) -> list[str]:
    """What the search lists for a word, once it has given that answer."""
    if not page.locator(".md-search__input").is_visible():  # a narrow window shows a button in its place
        page.locator("label.md-header__button[for=__search]").click()
    page.locator(".md-search__input").fill("")
    page.locator(".md-search__input").press_sequentially(word)
    page.locator(".md-search-result__meta").filter(has_text=answer).wait_for(state="attached")
    return page.locator(".md-search-result__item").all_text_contents()


@pytest.mark.parametrize("width", some([1440, 390], 1))
def test_in_a_browser_the_search_finds_and_nothing_is_asked_of_the_network(
    site: Path, browser: Browser, width: int
) -> None:
    page = browser.new_page(viewport={"width": width, "height": 900})
    requests, problems = list[str](), list[str]()
    page.on("request", lambda request: requests.append(request.url))
    page.on("pageerror", lambda error: problems.append(str(error)))
    for name in ("index", "gallery", "methods", "tutorials/01_first_map", "reference/methods"):
        page.goto((site / f"{name}.html").as_uri(), wait_until="networkidle")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), name
    assert any("effect_differences" in text for text in search(page, "effect_differences", answer="matching document"))
    assert search(page, "xyzzyx", answer="No matching documents") == []
    assert [address for address in requests if not address.startswith(("file:", "blob:", "data:"))] == []
    assert problems == []
    page.close()
