"""What README promises is what the repository holds: the two commands, the example, versions and addresses."""

import ast
import re
import tomllib
from pathlib import Path

from for_each import for_each

import headcats

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
REPOSITORY = PROJECT["urls"]["Repository"]
CONSTRAINTS = [
    line
    for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
]


# What users read and copy from: the README and the pages of the site.
PAGES = {"README": README} | {path.stem: path.read_text(encoding="utf-8") for path in (ROOT / "docs").glob("*.md")}


def fenced(language: str, text: str = README) -> list[str]:
    """The fenced blocks of one language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)


def test_the_torch_that_it_names_is_the_one_that_is_tested():
    assert set(re.findall(r"torch==\S+", README)) == {line for line in CONSTRAINTS if line.startswith("torch==")}


COMMANDS = (
    "pip install -c constraints.txt -e . && headcats run",
    'pip install -c constraints.txt -e ".[test]" && pytest',
)


@for_each("command", COMMANDS)
def test_each_command_stands_alone_in_a_fenced_block(command):
    """.ci/run reads these very lines and runs them in fresh environments."""
    assert [block.splitlines() for block in fenced("bash")].count([command]) == 1


def test_tested_versions_are_the_pinned_ones():
    pinned = dict(line.split("==", 1) for line in CONSTRAINTS)
    for name in ("torch", "transformer-lens"):
        assert f"{name} {pinned[name]}" in README
    scripts = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / ".ci").iterdir())
    (other,) = re.findall(r"^other_version=(\S+)$", scripts, re.MULTILINE)
    assert f"transformer-lens {other}" in README
    assert "Python 3.11" in README
    assert PROJECT["requires-python"] == ">=3.11"


def test_one_version_and_one_address():
    """The version lives in headcats/__init__.py, the address in pyproject.toml; every copy equals it."""
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"version: {headcats.__version__}\n" in citation
    assert f"repository-code: {REPOSITORY}\n" in citation
    addresses = set(re.findall(r"github(?:\.com)?/([\w.-]+/[\w.-]+?)(?:\.git|/blob|[\s\"')\]]|$)", README + citation))
    for notebook in (ROOT / "tutorials").glob("*.ipynb"):
        text = notebook.read_text(encoding="utf-8")
        assert f"{REPOSITORY}" in text
        addresses |= set(re.findall(r"github(?:\.com)?/([\w.-]+/[\w.-]+?)(?:\.git|/blob|[\s\"')\]\\]|$)", text))
    assert f"repository: {REPOSITORY} " in (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert addresses == {REPOSITORY.removeprefix("https://github.com/")}


def names_used(text: str) -> set[str]:
    """Names of headcats in the examples of a page; those with prompts (`>>>`) are run by tests of their own."""
    blocks = [block for block in fenced("python", text) if not block.startswith(">>>")]
    tree = ast.parse("\n".join(blocks))
    used = {ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    return {name for name in used if re.fullmatch(r"hc(\.\w+)+", name)}


@for_each("page", PAGES)
def test_the_examples_use_public_names_only(page):
    used = names_used(PAGES[page])
    if page in ("README", "first_steps"):
        assert {"hc.load_model", "hc.run", "hc.score", "hc.categorize", "hc.overlap", "hc.figures.overlap_map"} <= used
    for name in used:
        item = headcats
        for part in name.split(".")[1:]:
            item = getattr(item, part)


def test_every_relative_link_leads_somewhere():
    links = re.findall(r"\]\((?!https?:|#|mailto:)([^)#]+)", README)
    assert "docs/pictures/finding.svg" in links
    assert [link for link in links if not (ROOT / link).exists()] == []
