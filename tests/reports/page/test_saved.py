"""Evidence and attention of an earlier state of the results are not shown."""

import json
import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
import xarray as xr
from for_each import for_each
from reports.page.saved_runs import list_attention
from results.folders import change_manifest

import headcats as hc
from headcats.reports.page.saved import saved_attention, saved_evidence
from headcats.results import tables
from headcats.results.file_format import json_content_of, json_with_checksum
from headcats.results.folder import ResultsFolder
from headcats.results.loading import open_results
from headcats.results.place import find_place
from headcats.results.run_results import STATE, RunResults

FIRST = "denoising_patch@last"


@pytest.fixture
def complete(copied: Path) -> Path:
    """A finished run with evidence and attention."""
    list_attention(copied, {"A": {}}, method=FIRST)
    return copied


def current(run: RunResults) -> set[str]:
    """What is shown of everything that is saved; the rest must be said to be of an earlier state."""
    each = {"evidence": saved_evidence(run), "attention": saved_attention(run)}
    for saved_of in each.values():
        assert bool(saved_of.contents) != bool(saved_of.problems)
        assert all("earlier state" in problem for problem in saved_of.problems.values())
    return {name for name, saved_of in each.items() if saved_of.contents}


def add(folder: Path, source: tuple[str, str], to: tuple[str, str]) -> None:
    """Add a block to finished results, as a run does that is resumed with more tasks or methods."""
    results = ResultsFolder(folder)
    manifest = results.read_manifest()
    block = results.read_block(*source).assign_attrs(method=to[1].partition("@")[0])
    record = replace(manifest.record(*source), checksum=results.write_block(*to, block))
    manifest.tasks.setdefault(to[0], manifest.tasks[source[0]])
    manifest.add(to[1], to[0], record)
    manifest.extend(methods=[to[1]], requested=[to[0]])
    results.write_manifest(manifest)


def change_block(folder: Path) -> None:
    results = ResultsFolder(folder)
    block = results.read_block("always_a", FIRST)
    mark = results.write_block("always_a", FIRST, block.assign(patched=block["patched"] * 1.01))
    change_manifest(folder, lambda stored: stored["blocks"][FIRST]["parts"]["always_a"].update(checksum=mark))


def move_task(stored: dict) -> None:
    names = [category["name"] for category in stored["categories"]]
    task = stored["tasks"]["always_a"]
    task["category"] = next(name for name in names if name != task["category"])


@for_each(
    "change",
    [
        lambda folder: add(folder, ("always_a", FIRST), ("always_d", FIRST)),
        lambda folder: change_manifest(folder, move_task),
        change_block,
    ],
)
def test_what_was_saved_before_blocks_tasks_or_categories_changed_is_not_shown(complete: Path, tmp_path: Path, change):
    folder = Path(shutil.copytree(complete, tmp_path / "changed"))
    assert current(open_results(find_place(folder))) == {"evidence", "attention"}
    loaded = hc.load(folder)
    change(folder)
    assert current(open_results(find_place(folder))) == set()
    assert current(RunResults(loaded)) == {"evidence", "attention"}, "these are the blocks that were tested"


def test_results_shared_by_git_for_windows_are_the_same(complete: Path, tmp_path: Path):
    def git(*arguments: object) -> None:
        """As it is set up on Windows: text gets other line ends when it is checked out."""
        options = ["core.autocrlf=true", "user.name=a", "user.email=a@example.org"]
        command = ["git", *(part for option in options for part in ("-c", option)), *map(str, arguments)]
        subprocess.run(command, check=True, capture_output=True, env={**os.environ, "GIT_CONFIG_GLOBAL": os.devnull})

    git("init", complete)
    git("-C", complete, "add", ".")
    git("-C", complete, "commit", "-m", "results")
    git("clone", complete, tmp_path / "clone")
    for name in ("manifest.json", "suite.json", "attention.json"):
        assert b"\r\n" in (tmp_path / "clone" / name).read_bytes(), name
    xr.testing.assert_identical(hc.load(tmp_path / "clone"), hc.load(complete))
    assert current(open_results(find_place(tmp_path / "clone"))) == {"evidence", "attention"}


def test_what_does_not_say_of_which_state_it_is_is_not_shown(complete: Path):
    for file in complete.glob("evidence/**/*.nc"):
        table = tables.read_table(file, again="")
        table.attrs.pop(STATE, None)
        file.write_bytes(tables.table_bytes(table))
    index = complete / "attention.json"
    stored = json.loads(json_content_of(index.read_bytes()))
    del stored[STATE]
    index.write_bytes(json_with_checksum(json.dumps(stored)))
    assert current(open_results(find_place(complete))) == set()


def test_a_test_by_another_method_than_todays_default_is_not_taken_for_one_by_it(complete: Path):
    change_manifest(complete, lambda stored: stored["methods"].sort(key=lambda label: label == FIRST))
    run = open_results(find_place(complete))
    assert str(run.default_label) == "mean_ablation@all"
    assert "headcats evidence results --method denoising_patch@last`" in saved_evidence(run).problems["evidence"]
