"""The pages of the API reference: every public name with its words, readable types, nothing fetched from elsewhere."""

import html
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from figures.chromium import measure
from public_names import NAMESPACES, PublicName, public_names
from reference import GUIDES, PAGES, write_reference

import headcats as hc

pytestmark = pytest.mark.ci

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("reference")
    write_reference(folder)
    return folder


def page_and_place(public: PublicName) -> tuple[str, str]:
    pages = [page for page in (*NAMESPACES, "errors") if public.name.startswith(f"{page}.")]
    if not pages:
        return "headcats.html", public.name
    page = max(pages, key=len)
    return f"headcats/{page.replace('.', '/')}.html", public.name.removeprefix(f"{page}.")


def shown(site: Path, public: PublicName) -> str:
    """The part of a page that is about a name, up to the next one."""
    page, place = page_and_place(public)
    text = (site / page).read_text(encoding="utf-8")
    (start,) = [match.start() for match in re.finditer(rf'<(?:section|div) id="{re.escape(place)}"', text)]
    following = re.search(r'<(?:section|div) id="', text[start + 10 :])
    return text[start : start + 10 + following.start()] if following else text[start:]


def words(part: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", "", part)).split())


def test_it_is_one_command_of_this_file() -> None:
    command = 'pip install -c constraints.txt -e ".[docs]" && python docs/reference.py'
    assert command in (ROOT / "docs" / "reference.py").read_text(encoding="utf-8")
    assert command in (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert "/site/" in (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()


def test_what_it_needs_is_pinned() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pins = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    for line in project["optional-dependencies"]["docs"]:
        name = re.split(r"[<>=]", line)[0]
        assert re.search(rf"^{name}==", pins, re.MULTILINE)


def test_it_runs_as_a_script(tmp_path: Path) -> None:
    subprocess.run([sys.executable, ROOT / "docs" / "reference.py", tmp_path / "out"], check=True, capture_output=True)
    assert {path.name for path in (tmp_path / "out").iterdir()} >= {"index.html", "headcats.html", "search.js"}


def test_every_public_name_is_there_with_its_words(site: Path) -> None:
    missing, unparsed = [], []
    for public in public_names():
        part = words(shown(site, public))
        first = re.sub(r"\*\*|\*|`", "", public.docstring.split("\n")[0])
        if not first or " ".join(first.split()) not in re.sub(r"\*\*|\*|`", "", part):
            missing.append(public.name)
        # Sections that were not understood stand there as in the source.
        if re.search(r"(?<!Keyword )\bArgs:", part):
            unparsed.append(public.name)
    assert (missing, unparsed) == ([], [])


def test_no_module_and_nothing_private_is_shown(site: Path) -> None:
    pages = {f"{page.replace('.', '/')}.html" for page in PAGES}
    assert {str(path.relative_to(site)) for path in site.rglob("*.html")} == {
        "index.html",
        *(f"{guide}.html" for guide in GUIDES),
        *pages,
    }
    for page in pages:
        ids = re.findall(r'<(?:section|div) id="([^"]+)"', (site / page).read_text(encoding="utf-8"))
        assert not [name for name in ids if any(part.startswith("_") for part in name.split("."))]
        assert len(ids) == len(set(ids))


def test_types_are_written_as_users_write_them(site: Path) -> None:
    papers = "|".join(page.replace(".", r"\.") for page in NAMESPACES if "." in page)
    for page in site.rglob("headcats*/*.html"):
        text = page.read_text(encoding="utf-8")
        for signature in re.findall(r'<span class="signature.*?</span>\n', text, re.DOTALL):
            assert not re.search(
                rf"headcats\.(?!(?:{papers})\.[A-Z])\w+\.\w+\.\w|xarray\.core|collections\.abc|&lt;(class|function)",
                signature,
            )


def test_the_guide_of_the_first_page_names_everything() -> None:
    guide = hc.__doc__ or ""
    missing = [name for name in hc.__all__ if name != "__version__" and not re.search(rf"`(headcats\.)?{name}`", guide)]
    assert missing == []


def test_nothing_is_fetched_from_elsewhere(site: Path) -> None:
    for path in site.rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"""(?:src|srcset)=["']?(?:https?:)?//|@import|url\(["']?(?:https?:)?//""", text)
        assert not re.search(r"<link[^>]+href=[\"']?(?:https?:)?//", text)


def test_every_link_leads_to_a_place(site: Path) -> None:
    places = {
        path.resolve(): set(re.findall(r'\bid="([^"]+)"', path.read_text(encoding="utf-8")))
        for path in site.rglob("*.html")
    }
    for path in site.rglob("*.html"):
        text = re.sub(r"<script.*?</script>", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        for link in re.findall(r'<a[^>]* href="([^"]+)"', text):
            if link.startswith(("https:", "http:")):
                continue
            page, _, place = link.partition("#")
            target = (path.parent / page).resolve() if page else path.resolve()
            assert target in places, (path.name, link)
            assert not place or place in places[target], (path.name, link)


def test_the_search_knows_every_name(site: Path) -> None:
    index = (site / "search.js").read_text(encoding="utf-8")
    for public in public_names():
        page, place = page_and_place(public)
        full = f"{page.removesuffix('.html').replace('/', '.')}.{place}"
        assert json.dumps(full) in index


SEARCH = """<script>
addEventListener("load", () => {
  const box = document.querySelector("input[type=search]");
  box.dispatchEvent(new Event("focus")); // which a box in a folded menu cannot get
  box.value = "WORD";
  box.dispatchEvent(new Event("input", {bubbles: true}));
});
addEventListener("load", () => setTimeout(() => {
  const found = [...document.querySelectorAll(".search-result")].map(e => e.textContent);
  if (!found.some(text => text.includes("WORD"))) throw new Error(`no result: ${found}`);
}, 400));
</script>"""


@pytest.mark.parametrize("width", [1440, 390])
def test_in_a_browser_the_search_finds_and_nothing_is_asked_of_the_network(site: Path, width: int) -> None:
    page = site / f"searched_{width}.html"
    text = (site / "headcats.html").read_text(encoding="utf-8")
    page.write_text(text.replace("</head>", SEARCH.replace("WORD", "subsampled_overlap") + "</head>"), encoding="utf-8")
    found = measure(page, size=(width, 900))
    assert found["problems"] == []
    assert [address for address in found["requests"] if not address.startswith("file:")] == []
    assert found["hidden"] <= 0


def test_that_look_would_notice_a_search_that_finds_nothing(site: Path) -> None:
    page = site / "searched_in_vain.html"
    text = (site / "headcats.html").read_text(encoding="utf-8")
    page.write_text(text.replace("</head>", SEARCH.replace("WORD", "xyzzyx") + "</head>"), encoding="utf-8")
    assert "no result" in measure(page, size=(1440, 900))["problems"][0]
