"""What a notebook shows of the tables of a run."""

import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from types import SimpleNamespace

import IPython
import numpy as np
import pytest
import xarray as xr
from figures.examples import scattered_scores
from IPython.core.formatters import DisplayFormatter
from simulated import NAMES, block, tree

import headcats as hc
from headcats.reports.notebook import show_summaries
from headcats.reports.notebook.summary import summary
from headcats.results.manifest import Manifest

N = 40
SHARED, OWN = (0, 1), (1, 2)


@pytest.fixture(scope="module")
def results() -> xr.DataTree:
    """Eight tasks: L0H1 serves Knowledge and Linguistic, L1H2 Knowledge alone; nothing serves the others."""
    draw, blocks, categories = np.random.default_rng(0), {}, {}
    for number, category in enumerate(NAMES * 2):
        effect = 0.02 * draw.normal(size=(N, 2, 3))
        effect[:, *SHARED] += 0.4 * (category in ("Knowledge", "Linguistic"))
        effect[:, *OWN] += 0.3 * (category == "Knowledge")
        blocks[f"task{number}"], categories[f"task{number}"] = block(effect), category
    made = tree(blocks, categories=categories)
    made.attrs["manifest"] = Manifest().to_json()
    return made


@pytest.fixture(scope="module")
def scores(results: xr.DataTree) -> xr.Dataset:
    return hc.score(results, method="denoising_patch")


@pytest.fixture(scope="module")
def members(scores: xr.Dataset) -> xr.Dataset:
    return hc.categorize(scores)


def parsed(data: object) -> tuple[str, list[list[str]], int]:
    """Sentences, rows of the table, and pictures."""
    root = ElementTree.fromstring(summary(data) or "")
    text = " ".join("".join(part.itertext()) for part in root.iter("p"))
    rows = [["".join(cell.itertext()) for cell in row] for row in root.iter("tr")]
    return text, rows, len(root.findall("{http://www.w3.org/2000/svg}svg"))


def test_members_and_their_overlap_show_the_map_and_its_categories(members: xr.Dataset) -> None:
    text, rows, pictures = parsed(members)
    assert (text, rows, pictures) == parsed(hc.overlap(members))
    assert pictures == 1
    assert [row[:3] for row in rows[1:]] == [
        ["Algorithmic", "none", "0"],
        ["Knowledge", "L0H1 L1H2", "2"],
        ["Linguistic", "L0H1", "1"],
        ["Translation", "none", "0"],
    ]
    assert "L0H1" in text
    assert "L1H2" in text


def test_scores_show_means_over_the_tasks_of_a_category(scores: xr.Dataset) -> None:
    _, rows, pictures = parsed(scores)
    mean = scores["effect"].sel(layer=0, head=1, task=scores["category"] == "Knowledge").mean().item()
    assert pictures == 1
    assert [row[:2] for row in rows[1:]] == [[name, "2"] for name in NAMES]
    assert rows[2][2].startswith(f"L0H1 {mean:.2f}, L1H2 ")


def test_results_show_the_effects_that_score_gives(results: xr.DataTree, scores: xr.Dataset) -> None:
    text, rows, pictures = parsed(results)
    assert pictures == 1
    assert rows == parsed(scores)[1]
    assert "denoising_patch@last" in text


def test_names_with_markup_are_text(members: xr.Dataset) -> None:
    name = "<script>alert(1)</script>"
    hostile = members.assign_coords(category=[name, *NAMES[1:]])
    hostile.attrs["categories"] = hostile.attrs["categories"].replace("Algorithmic", name)
    assert parsed(hostile)[1][1][0] == name


def test_anything_else_has_no_summary(members: xr.Dataset) -> None:
    assert summary(members[["size", "n_tasks"]]) is None
    assert summary(members.sel(category="Knowledge")) is None
    assert summary(xr.Dataset({"x": ("y", [1, 2])})) is None
    assert summary(members.assign_attrs(categories="[]")) is None
    assert summary(xr.DataTree.from_dict({"/a": members})) is None


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> DisplayFormatter:
    formatter = DisplayFormatter()
    monkeypatch.setattr(IPython, "get_ipython", lambda: SimpleNamespace(display_formatter=formatter))
    show_summaries()
    return formatter


def test_a_table_of_headcats_is_shown_as_its_summary(shown: DisplayFormatter) -> None:
    scores = scattered_scores(2, 3)
    bundle, _ = shown.format(scores)
    assert bundle["text/html"] == summary(scores)
    assert "<svg" in bundle["text/html"]
    assert bundle["text/plain"] == repr(scores)


def test_anything_else_is_shown_as_xarray_shows_it(shown: DisplayFormatter) -> None:
    for data in (xr.Dataset({"x": ("y", [1, 2])}), xr.DataTree(xr.Dataset({"x": 1}))):
        html = shown.format(data)[0]["text/html"]
        assert "xr-wrap" in html
        assert "headcats" not in html


def test_outside_ipython_nothing_is_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(IPython, "get_ipython", lambda: None)
    show_summaries()


@pytest.mark.slow
@pytest.mark.parametrize("before", ["", "import IPython; "], ids=["script", "ipython"])
def test_importing_headcats_imports_nothing_for_it(before: str) -> None:
    heavy = {"plotly", "xarray", "torch", "headcats.figures", "headcats.reports.notebook.summary"}
    code = f"import sys; {before}import headcats; print(*{heavy} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
