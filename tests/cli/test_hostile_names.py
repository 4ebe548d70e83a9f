"""Every command that reads results shows any name as text in a terminal, and writes it as it is for other programs."""

import csv
import io
import json
import shutil
from pathlib import Path

import pytest
from cli.done import Done
from covering import some
from hostile_names import GROUPS, REFUSED, hostile_run, seen, task_name, unseen
from results.folders import change_manifest
from rich.console import Console

import headcats as hc
from headcats.base.errors import DataError
from headcats.cli import console
from headcats.results.categories import Category
from headcats.results.folder import ResultsFolder
from headcats.results.sharing import card

pytestmark = pytest.mark.filterwarnings("ignore::headcats.base.errors.StatisticsWarning")


@pytest.fixture(scope="module", params=some([3, 4, 2, 1, 0], 1))
def group(request: pytest.FixtureRequest) -> tuple[str, ...]:
    """Files, terminals, rich; in pages only by hand."""
    return GROUPS[request.param]


@pytest.fixture(scope="module")
def made(group: tuple[str, ...], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return hostile_run(tmp_path_factory.mktemp("hostile") / "results", group)


@pytest.fixture
def folder(headcats, made: Path, tmp_path: Path) -> str:
    shutil.copytree(made, tmp_path / "here" / "results")
    return "results"


@pytest.fixture(autouse=True)
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console, "out", Console(width=80, highlight=False, emoji=False))


def folded(name: str) -> set[str]:
    """Characters of a name: a cell that is folded stands on several lines, between those of other cells."""
    return set(seen(name)) - set("┃│─━┼╇")


def check_terminal(done: Done) -> None:
    assert done.code == 0
    assert "Traceback" not in done.err
    assert not unseen(done.out)
    assert not unseen(done.err)
    tables = [line for line in done.out.splitlines() if "│" in line]
    assert all(len(line) <= 80 for line in tables if line.isascii())


def test_commands_in_a_terminal(headcats, group: tuple[str, ...], folder: str) -> None:
    check_terminal(headcats("map", folder))
    done = headcats("map", folder, "--csv", "--details")
    check_terminal(done)
    for name in group:
        assert folded(name) <= set(done.out)
    with open(Path(folder) / "heads.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["category"] for row in rows} == set(group), "a table for programs has the names themselves"


@pytest.mark.slow
def test_all_commands(headcats, group: tuple[str, ...], folder: str) -> None:
    numbers = json.loads(headcats("map", folder, "--json").out)
    assert [entry["category"] for entry in numbers["categories"]] == list(group)
    tasks = {task for head in numbers["heads"] for task in head["tasks"]}
    assert tasks == {f"{task_name(name)}{place}_{k}" for place, name in enumerate(group) for k in "ab"}
    check_terminal(headcats("figure", "head_grid", folder, "--out", "figure.html"))
    check_terminal(headcats("report", folder))
    shutil.copytree(folder, "again")
    change_manifest("again", lambda stored: stored.update(created="another time"))
    check_terminal(headcats("compare", folder))
    check_terminal(headcats("compare", folder, "again", "--csv", "pairs.csv"))
    assert list(csv.reader(io.StringIO(Path("pairs.csv").read_text(encoding="utf-8"))))


def test_an_error_names_them_as_text(headcats, group: tuple[str, ...], folder: str) -> None:
    done = headcats("map", folder, "--metric", group[0])
    assert done.code == 2
    assert not unseen(done.err)
    assert "Traceback" not in done.err
    change_manifest(folder, lambda manifest: [each.update(colour="no colour") for each in manifest["categories"]])
    for command in (["map", folder], ["report", folder], ["figure", "overlap_map", folder, "--out", "a.html"]):
        done = headcats(*command)
        assert done.code == 2
        assert "#rrggbb" in done.text
        assert "Traceback" not in done.err


def test_the_page_on_the_hub(group: tuple[str, ...], made: Path) -> None:
    text = card(ResultsFolder(made).read_manifest(), "hf://a/b")
    assert not unseen(text)
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert len(rows) >= 5
    assert all(line.endswith(" |") for line in rows[2:])
    assert "\n<" not in text
    assert not [line for line in rows if "<" in line.replace("\\<", "").partition("`")[0]]


def test_names_that_results_cannot_hold_are_refused_before_anything_is_computed() -> None:
    for name in REFUSED:
        with pytest.raises(DataError, match="A category"):
            Category(name, "teal")
        task = hc.Task("a", name, "", lambda n, *, seed: [("a", "b")])
        with pytest.raises(DataError, match="A category"):
            hc.make_suite([task])
        if name.strip():
            with pytest.raises(DataError, match="name"):
                hc.Task(name.replace(" ", ""), "a", "", lambda n, *, seed: [])
        if "\0" in name or "\ud800" in name:
            with pytest.raises(DataError, match="A suite"):
                hc.make_suite(["plural"], name=name)
