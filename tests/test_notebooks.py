"""Every tutorial is built alike, and stored without outputs; `run_tutorials.py` runs them."""

import ast
import re
import subprocess
import sys
import tomllib
import xml.etree.ElementTree as ElementTree
from importlib.metadata import version
from pathlib import Path

import nbformat
from for_each import for_each
from run_tutorials import notebooks, references

import headcats as hc

ROOT = Path(__file__).parents[1]
REPOSITORY = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]["Repository"]
BADGE = "https://colab.research.google.com/assets/colab-badge.svg"
COLAB = REPOSITORY.replace("https://github.com/", "https://colab.research.google.com/github/") + "/blob/main/tutorials/"
every_notebook = for_each("path", notebooks())


def cells(path, kind):
    return [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == kind]


@every_notebook
def test_notebook_is_stored_without_outputs_and_its_cells_have_names(path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert [cell.id for cell in cells(path, "code") if cell.outputs or cell.execution_count is not None] == []
    names = [cell.id for cell in notebook.cells]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[a-z][a-z0-9-]*", name) for name in names), names


@every_notebook
def test_notebook_begins_with_title_badge_and_run_time(path):
    first = nbformat.read(path, as_version=4).cells[0]
    title, badge, *text = [line for line in first.source.splitlines() if line]
    assert title.startswith("# ")
    assert badge == f"[![Open In Colab]({BADGE})]({COLAB}{path.name})"
    assert re.search(r"\*\*Run time:\*\* \w+ \d+ seconds", "\n".join(text))


@every_notebook
def test_notebook_installs_what_it_needs_in_the_same_way(path):
    install = cells(path, "code")[0].source
    assert install == cells(notebooks()[0], "code")[0].source
    assert f'REPOSITORY = "{REPOSITORY}"\n' in install
    assert '"ipywidgets"' in install  # without it tqdm warns in every notebook


def test_install_cell_does_nothing_where_headcats_is_there(monkeypatch):
    asked = []
    monkeypatch.setattr(subprocess, "check_call", asked.append)
    install = compile(cells(notebooks()[0], "code")[0].source, "install", "exec")
    exec(install, {})
    assert asked == []
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "ipywidgets" else object())
    exec(install, {})
    assert asked.pop()[5:] == ["ipywidgets", f"torch=={version('torch')}"]
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "headcats" else object())
    exec(install, {})
    (command,) = asked
    assert command[:5] == [sys.executable, "-m", "pip", "install", "-q"]
    assert command[5] == f"headcats @ git+{REPOSITORY}"
    assert re.fullmatch(r"torch==\S+", command[6])  # the one that is there stays


@every_notebook
def test_notebook_ends_by_asserting_its_claim(path):
    notebook = nbformat.read(path, as_version=4)
    before, last = notebook.cells[-2:]
    assert last.cell_type == "code"
    assert any(isinstance(node, ast.Assert) for node in ast.walk(ast.parse(last.source)))
    assert "## What this shows" in before.source
    assert "The claim of" in " ".join(before.source.split())


@every_notebook
def test_notebook_uses_public_names_only(path):
    tree = ast.parse("\n".join(cell.source for cell in cells(path, "code")))
    used = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    imported = [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    modules = [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    ours = [name for name in [*imported, *modules] if name.split(".")[0] == "headcats"]
    assert ours == ["headcats"]
    assert [node.attr for node in used if node.attr.startswith("_") and not node.attr.endswith("__")] == []
    for name in {ast.unparse(node) for node in used}:
        if not re.fullmatch(r"hc(\.\w+)+", name):
            continue
        _, home, *rest = name.split(".")
        assert home in hc.__all__, name
        if rest and home in ("figures", "methods", "metrics", "rules"):
            assert rest[0] in dir(getattr(hc, home)), name


@every_notebook
def test_notebook_shows_a_picture_directly_after_the_cell_that_draws_it(path):
    sources = {cell.id: cell for cell in nbformat.read(path, as_version=4).cells}
    for cell, (picture, alt) in references(path).items():
        assert sources[cell].cell_type == "code", cell
        assert "hc.figures." in sources[cell].source, cell
        assert picture == ROOT / "tutorials" / "pictures" / f"{path.stem}-{cell}.svg"
        assert picture.stat().st_size < 200_000
        assert ElementTree.parse(picture).getroot().tag == "{http://www.w3.org/2000/svg}svg"
        assert len(alt.split()) >= 10, "an alt text says what is seen"


def test_every_picture_is_shown_and_every_tutorial_but_one_has_some():
    shown = {path.stem: [picture.name for picture, _ in references(path).values()] for path in notebooks()}
    stored = [picture.name for picture in (ROOT / "tutorials" / "pictures").iterdir()]
    assert sorted(stored) == sorted(name for names in shown.values() for name in names)
    assert [name for name, names in shown.items() if not 1 <= len(names) <= 2] == ["10_many_machines"]
