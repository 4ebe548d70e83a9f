"""What is saved of robustness comes back whole, or is named as damaged."""

import json
import os
import re
import shutil
import subprocess
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from for_each import for_each
from reports.page.saved_runs import list_attention
from results.folders import change_manifest
from simulated import block, tree

import headcats as hc
from headcats.base.errors import HeadcatsWarning
from headcats.categories.map_spec import MapSpec
from headcats.evidence.comparison.protocols import judge_protocols
from headcats.evidence.comparison.runs import named_runs
from headcats.reports.page import saved
from headcats.reports.page.saved import (
    Robustness,
    Saved,
    robustness_folder,
    save_robustness,
    saved_attention,
    saved_evidence,
    saved_robustness,
)
from headcats.results import tables
from headcats.results.checksum import json_content_of, json_with_checksum
from headcats.results.folder import ResultsFolder
from headcats.results.loading import open_results
from headcats.results.place import find_place
from headcats.results.run_results import STATE, RunResults
from headcats.results.tables import read_table, table_bytes
from headcats.results.whole_file import write_whole

WHERE = "evidence/robustness"


@pytest.fixture
def run(tmp_path: Path) -> RunResults:
    """Two methods on two tasks, as read from a folder."""
    draw = np.random.default_rng(0)
    blocks = {f"task{task}": block(draw.normal(0.1, 0.02, (12, 2, 3))) for task in range(2)}
    results = tree(blocks, categories={"task0": "Knowledge", "task1": "Linguistic"})
    for name, one in blocks.items():
        results[f"/{name}/noising_patch@last"] = one.assign_attrs(base="clean", method="noising_patch")
    methods = ["denoising_patch@last", "noising_patch@last"]
    results.attrs["manifest"] = json.dumps({"plan": {"metrics": ["logit_diff"]}, "model": {}, "methods": methods})
    results.encoding["source"] = str(tmp_path)
    return RunResults(results)


@pytest.fixture
def found(run: RunResults) -> Robustness:
    """Both as protocols."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HeadcatsWarning)
        judged = judge_protocols(named_runs({"one": run}), MapSpec())
    return Robustness(hc.evidence.agreement(judged.members), judged.members, {"other": "a control"}, None)


def test_what_is_saved_comes_back(run: RunResults, found: Robustness):
    save_robustness(run, WHERE, found)
    back = saved_robustness(run, WHERE).contents[WHERE]
    xr.testing.assert_identical(back.agreement.drop_attrs(), found.agreement.drop_attrs())
    assert list(back.members) == list(found.members)
    for name, members in found.members.items():
        for variable in ("member", "suppressing", "effect"):
            xr.testing.assert_identical(back.members[name][variable], members[variable])
    assert back.left_out == found.left_out
    assert back.halves is None


def test_a_later_call_leaves_nothing_of_an_earlier_one(run: RunResults, found: Robustness):
    halves = xr.Dataset({"jaccard": ("category", [0.5])}, {"category": ["Knowledge"]}, {"title": "one"})
    save_robustness(run, WHERE, Robustness(found.agreement, found.members, {}, halves))
    first = dict(list(found.members.items())[:1])
    save_robustness(run, WHERE, Robustness(found.agreement, first, {}, None))
    back = saved_robustness(run, WHERE).contents[WHERE]
    assert back.halves is None
    assert list(back.members) == list(first)


def test_nothing_saved_is_none_and_damage_is_said(run: RunResults, found: Robustness):
    assert saved_robustness(run, WHERE) == Saved({}, {})
    save_robustness(run, WHERE, found)
    (run.place.folder / WHERE / "agreement.nc").write_bytes(b"damaged")
    assert re.match(rf"{WHERE}/agreement\.nc .*headcats compare", saved_robustness(run, WHERE).problems[WHERE])


@for_each("tables", ['["../../elsewhere.nc"]', '["/etc/hostname"]', "[[1]]", "5"])
def test_no_table_elsewhere_is_opened(run: RunResults, found: Robustness, tables: str):
    save_robustness(run, WHERE, found)
    home = run.place.folder / WHERE
    shutil.copy(next(home.glob("protocols/*.nc")), run.place.folder / "elsewhere.nc")
    agreement = read_table(home / "agreement.nc", again="")
    (home / "agreement.nc").write_bytes(table_bytes(agreement.assign_attrs(tables=tables)))
    saved = saved_robustness(run, WHERE)
    assert not saved.contents
    assert "headcats compare" in saved.problems[WHERE]


def test_what_is_not_the_default_is_in_the_name():
    folders = {
        robustness_folder(MapSpec()),
        robustness_folder(MapSpec(rule=hc.rules.fdr(alpha=0.01))),
        robustness_folder(MapSpec(min_tasks=2)),
        robustness_folder(MapSpec(sign="suppressing")),
    }
    assert WHERE in folders
    assert len(folders) == 4


def test_a_call_that_is_stopped_leaves_nothing_that_looks_whole(run: RunResults, found: Robustness, monkeypatch):
    save_robustness(run, WHERE, found)
    other = {name: members.assign_attrs(another="call") for name, members in found.members.items()}

    def stopped(path: Path, data: bytes) -> None:
        if path.name == "agreement.nc":
            raise KeyboardInterrupt
        write_whole(path, data)

    with monkeypatch.context() as patched:
        patched.setattr(saved, "write_whole", stopped)
        with pytest.raises(KeyboardInterrupt):
            save_robustness(run, WHERE, Robustness(found.agreement, other, {}, None))
    monkeypatch.setattr(tables, "_PAUSE", 0.0)
    assert "of two calls" in saved_robustness(run, WHERE).problems[WHERE]


# ------------------------------------------------------------------------------------------------- of an earlier state
FIRST = "denoising_patch@last"


@pytest.fixture
def complete(copied: Path, found: Robustness) -> Path:
    """A finished run with evidence, robustness and attention."""
    save_robustness(open_results(find_place(copied)), WHERE, found)
    list_attention(copied, {"A": {}}, method=FIRST)
    return copied


def current(run: RunResults) -> set[str]:
    """What is shown of everything that is saved; the rest must be said to be of an earlier state."""
    each = {
        "evidence": saved_evidence(run),
        "robustness": saved_robustness(run, WHERE),
        "attention": saved_attention(run),
    }
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
    assert current(open_results(find_place(folder))) == {"evidence", "robustness", "attention"}
    loaded = hc.load(folder)
    change(folder)
    assert current(open_results(find_place(folder))) == set()
    assert current(RunResults(loaded)) == {"evidence", "robustness", "attention"}, (
        "these are the blocks that were tested"
    )


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
    assert current(open_results(find_place(tmp_path / "clone"))) == {"evidence", "robustness", "attention"}


def test_a_further_method_changes_what_compares_methods_alone(complete: Path):
    for task in open_results(find_place(complete)).blocks_of(FIRST):
        add(complete, (task, FIRST), (task, "noising_patch@last"))
    assert current(open_results(find_place(complete))) == {"evidence", "attention"}


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
