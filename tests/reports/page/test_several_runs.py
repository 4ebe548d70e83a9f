"""The page of several runs: what it compares, what it leaves out and why, and what stands on it."""

import re
from dataclasses import replace

import numpy as np
import pytest
from covering import some
from reports.page.synthetic_runs import EFFECT, KINDS, PATCH, written_run

import headcats as hc
from headcats.base.errors import DataError, OptionError, StatisticsWarning, StorageError
from headcats.categories.map_spec import MapSpec
from headcats.categories.outcome import NOT_JUDGED
from headcats.evidence.comparison.runs import read_runs
from headcats.reports.page.several.compared import compare_runs
from headcats.reports.page.several.first_screen import first_screen, side_by_side
from headcats.reports.page.several.writing import side_by_side_heads
from headcats.reports.text.comparison import MOVES_MARK
from headcats.results.finding import Table

pytestmark = pytest.mark.filterwarnings(f"ignore::{StatisticsWarning.__module__}.{StatisticsWarning.__name__}")

FIRST = {"Knowledge": [(0, 1), (1, 2)], "Translation": [(0, 1)]}
SECOND = {"Knowledge": [(0, 1), (1, 3)], "Translation": [(0, 1)]}


def runs_of(results):
    return read_runs(results, by="a test")


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    home = tmp_path_factory.mktemp("several")
    return [
        written_run(home / "seed0", FIRST, methods=(PATCH, "mean_ablation@all")),
        written_run(home / "seed1", SECOND, methods=(PATCH, "mean_ablation@all"), seed=1),
    ]


@pytest.fixture(scope="module")
def compared(folders):
    return compare_runs(runs_of(folders), MapSpec())


def test_names_are_the_ends_of_paths(compared, tmp_path):
    assert list(compared.runs) == ["seed0", "seed1"]
    runs = [written_run(tmp_path / parent / "run", FIRST) for parent in "ab"]
    assert list(runs_of(runs)) == ["a/run", "b/run"]


def test_heads_that_move_are_tested_on_the_same_prompts(compared):
    moving = {each.head: each for each in compared.memberships if each.moves}
    assert set(moving) == {"L1H2", "L1H3"}
    assert moving["L1H2"].effects == pytest.approx({"seed0": EFFECT, "seed1": 0.0}, abs=0.02)
    assert [(each.n_changes, each.n_found) for each in moving.values()] == [(1, 1), (1, 1)]
    assert all(each.is_decided for each in moving.values())


def test_other_prompts_are_not_compared(tmp_path, folders):
    other = written_run(tmp_path / "other", SECOND, prompts="of its own")
    changes = compare_runs(runs_of([folders[0], other]), MapSpec()).changes
    assert int(changes["n_compared"].sum()) == 0
    assert int(changes["n_other_prompts"].sum()) == 4


def test_the_first_screen_says_what_differs(compared):
    screen = first_screen(compared, with_toy=False)
    assert screen.ran.fields["differing"].fields["parts"] == ["seed"]
    assert screen.headline[0].fields["same"] == 2
    assert screen.headline[0].fields["n"] == 4
    assert screen.but == ()
    assert [each.name for each in screen.maps] == ["denoising patch"]
    assert [card.category for card in screen.maps[0].cards] == list(KINDS)


def test_a_card_tells_no_heads_from_not_judged(compared):
    first, second = compared.maps
    lacking = compared.maps[second]
    overlap = lacking.overlap.assign(effect=lacking.overlap["effect"].where(lacking.overlap["category"] != "Knowledge"))
    judged = replace(lacking, tables={**lacking.tables, "overlap": overlap})
    compared = replace(compared, maps={first: compared.maps[first], second: judged})
    card = first_screen(compared, with_toy=False).maps[0].cards[0]
    assert card.category == "Knowledge"
    counts = [run.fields["n"] for run in card.about.fields["runs"]]
    assert counts[0] > 0
    assert counts[1] == NOT_JUDGED


def test_a_panel_for_every_run_with_one_switch(compared):
    overlaps = compared.overlaps
    figure, views = side_by_side(overlaps, categories=list(KINDS), corresponds=True)
    assert figure.layout.xaxis2.matches == "x"
    assert figure.layout.yaxis2.matches == "y"
    assert list(views) == ["All Categories", *KINDS]
    assert {len(seen) for seen in views.values()} == {len(figure.data)}
    grounds = [trace for trace in figure.data if trace.type == "heatmap"]
    assert len(grounds) == 2
    pointed = grounds[1].text[2][1]
    assert pointed.split("<br>")[:2] == ["<b>L1H2</b>", "seed0: Knowledge"]
    # Only members of the category are coloured, in both panels.
    coloured = [trace.name for trace, seen in zip(figure.data, views["Translation"], strict=True) if seen]
    assert coloured.count("Translation") == 2
    assert "Knowledge" not in coloured


def test_a_row_for_every_head_with_a_column_for_every_run(compared):
    tables = [part for part in side_by_side_heads(compared).parts if isinstance(part, Table)]
    assert tables[0].columns == ("head", "category", "seed0", "seed1", "moves", "how sure")
    by_head = {row[:2]: row[2:] for row in tables[0].rows}
    assert len(by_head) == 4
    assert re.fullmatch(r"0\.[34]\d\d in \(\d+%\)", by_head["L1H2", "Knowledge"][0])
    assert by_head["L1H2", "Knowledge"][2] == MOVES_MARK
    assert by_head["L1H2", "Knowledge"][3].endswith("found")
    assert by_head["L0H1", "Knowledge"][2:] == ("", "")


@pytest.mark.parametrize(
    "name", some(["<b>bold</b> & 'more'", "\u202eright to left", "$x$ %{y} {{ 7*7 }}", "n" * 200], 1)
)
def test_the_page_of_results_in_a_dictionary_holds_it_all_without_scripts(name, folders, tmp_path):
    results = {name: hc.load(folders[0]), "other": hc.load(folders[1])}
    page = hc.report(results, tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.count("<noscript><svg") == 1
    assert MOVES_MARK in page
    heading = re.findall(r"<h1>(.*)</h1>", page)[0]
    assert heading.endswith(", other")
    assert "49" not in heading
    assert "<b>bold</b>" not in page
    assert "\u202e" not in page
    assert "http" not in re.sub(r"http://www\.w3\.org/\S+", "", page.split("<script")[0])


def test_results_in_memory_need_a_file_and_are_numbered(folders):
    results = [hc.load(folder) for folder in folders]
    for tree in results:
        tree.encoding.clear()
    with pytest.raises(OptionError, match="needs a file"):
        hc.report(results)
    assert list(runs_of(results)) == ["results 1", "results 2"]


def test_the_file_is_named_after_the_runs(folders, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("headcats.reports.page.several.writing.document", lambda *given, **options: "")
    assert hc.report(folders, method="mean_ablation").name == "report-seed0-seed1-mean_ablation@all.html"


def test_heads_of_other_models_are_not_matched(folders, tmp_path, monkeypatch):
    wide = written_run(tmp_path / "wide", SECOND, shape=(3, 6), model="wide", weights="two")
    compared = compare_runs(runs_of([folders[0], wide]), MapSpec())
    assert not compared.runs.corresponds
    shown = []
    monkeypatch.setattr("headcats.reports.page.several.writing.compare_runs", lambda *given: compared)
    monkeypatch.setattr(
        "headcats.reports.page.several.writing.document",
        lambda material, tabs, **more: shown.extend(tab.name for tab in tabs) or "",
    )
    hc.report([folders[0], wide], tmp_path / "page.html")
    assert "tab-side_by_side_heads" not in shown
    figure, _ = side_by_side(compared.overlaps, categories=list(KINDS), corresponds=False)
    assert figure.layout.xaxis2.matches is None
    widths = [np.diff(figure.layout[name].domain) for name in ("xaxis", "xaxis2")]
    assert widths[0] == pytest.approx(widths[1])


def test_runs_that_cannot_be_compared_are_named(folders, tmp_path):
    others = [
        written_run(tmp_path / "tasks", FIRST, tasks={"k_three": "Knowledge", "t_three": "Translation"}),
        written_run(tmp_path / "kinds", {}, tasks={"k_one": "Syntax"}, kinds={"Syntax": "#333333"}),
        written_run(tmp_path / "empty", {}, tasks={}),
    ]
    compared = compare_runs(runs_of([*folders, *others]), MapSpec())
    assert list(compared.runs) == ["seed0", "seed1"]
    assert {name: reason.id for name, reason in compared.left_out.items()} == {
        "tasks": "several.other_tasks", "kinds": "several.other_categories", "empty": "several.no_task",
    }  # fmt: skip
    said = [finding.fields["name"] for finding in first_screen(compared, with_toy=False).but]
    assert said == ["tasks", "kinds", "empty"]


def test_a_run_without_the_method_is_named(folders, tmp_path):
    other = written_run(tmp_path / "patch", FIRST)
    reading = MapSpec.parse(method="mean_ablation")
    compared = compare_runs(runs_of([*folders, other]), reading)
    assert list(compared.left_out) == ["patch"]
    assert "mean_ablation" in compared.left_out["patch"]


def test_nothing_is_written_where_nothing_can_be_compared(folders, tmp_path):
    target = tmp_path / "page.html"
    empty = written_run(tmp_path / "empty", {}, tasks={})
    with pytest.raises(DataError, match="empty: "):
        hc.report([folders[0], empty], target)
    with pytest.raises(OptionError, match="given twice"):
        hc.report([folders[0], folders[0].parent / "." / "seed0"], target)
    with pytest.raises(StorageError, match="nowhere"):
        hc.report([folders[0], tmp_path / "nowhere"], target)
    tree = hc.load(folders[0])
    tree.encoding.clear()
    with pytest.raises(OptionError, match="given twice"):
        hc.report([tree, tree], target)
    assert not target.exists()


@pytest.mark.usefixtures("unchecked_types")
def test_what_is_no_results(folders, tmp_path):
    with pytest.raises(DataError, match=r"hc\.report"):
        hc.report([folders[0], 3], tmp_path / "page.html")
    with pytest.raises(DataError, match="got none"):
        hc.report([], tmp_path / "page.html")
