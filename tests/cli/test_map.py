"""`headcats map`: the list of heads, files that do not replace each other, and how it fails."""

import csv
import errno
import os
import re
import shutil
from pathlib import Path

import pytest
from results.folders import change_manifest

import headcats as hc
from headcats.base.errors import StatisticsWarning
from headcats.categories.task_tests import NEW_TASK
from headcats.evidence.verdicts import VERDICTS
from headcats.results.descriptors import DESCRIPTORS
from headcats.results.run_results import STATE
from headcats.results.tables import read_table, table_bytes


def test_map_writes_the_head_list(headcats, results):
    done = headcats("map", results, "--csv")
    assert done.code == 0, done.err
    assert "heads.csv" in done.text
    assert "not finished" not in done.text
    text = (results / "heads.csv").read_bytes().decode("utf-8")
    assert "\r" not in text
    rows = list(csv.DictReader(text.splitlines()))
    columns = ["head", "category", "kind", "kv_head", "effect", "low", "high", "q", "tasks", "probability", "doubtful"]
    specific = ["specific", "specific_low", "specific_high"]
    assert [name for name in rows[0] if name not in specific] == [*columns, *NEW_TASK, *DESCRIPTORS]
    assert ("L0H0", "Knowledge", "helping") in {(row["head"], row["category"], row["kind"]) for row in rows}
    scores = hc.score(hc.load(results), method="denoising_patch", metric="logit_diff")
    with pytest.warns(StatisticsWarning, match=r"Algorithmic\.$"), pytest.warns(StatisticsWarning, match="single task"):
        members = hc.categorize(scores, rule=hc.rules.fdr(alpha=0.05, min_effect=0.05), min_tasks="half")
    notes = [line for line in done.err.splitlines() if line.startswith("Note: Categories ")]
    assert [line.split(": ")[-1] for line in notes] == ["Algorithmic.", "Linguistic (always_c)."]
    expected = hc.categories.head_table(hc.overlap(members))
    assert [row["head"] for row in rows] == expected["head"].tolist()
    assert [float(row["effect"]) for row in rows] == pytest.approx(expected["effect"].tolist())
    assert [float(row["q"]) for row in rows] == pytest.approx(expected["q"].tolist())
    assert [row["tasks"] for row in rows] == expected["tasks"].tolist()


def test_maps_of_other_options_do_not_replace_the_first(headcats, results):
    assert headcats("map", results, "--csv").code == 0
    first = {name: (results / name).read_bytes() for name in ("overlap_map.html", "heads.csv")}
    method = "mean_ablation@all"  # as `run` names it
    options = ["--method", method, "--min-tasks", 1, "--rule", "threshold:value=0.2"]
    done = headcats("map", results, *options, "--csv", "--details")
    assert done.code == 0, done.err
    for text in ("mean_ablation at", "at least 1 task", "threshold(value=0.2"):
        assert text in done.text
    (page,) = results.glob(f"overlap_map-{method}-*value=0.2-min_tasks=1.html")
    assert "mean_ablation at" in page.read_text(encoding="utf-8")
    assert (results / f"heads{page.stem.removeprefix('overlap_map')}.csv").exists()
    assert "Note: min_tasks=1 " in done.err
    assert {name: (results / name).read_bytes() for name in first} == first


def test_a_map_of_a_run_that_was_stopped_says_so(headcats, results, tmp_path):
    copy = shutil.copytree(results, tmp_path / "stopped")
    change_manifest(copy, lambda manifest: manifest["requested"].extend(["later", "last"]))
    done = headcats("map", copy, "--positions", "first")  # refused, so that nothing is scored
    assert re.search(r"4 of 6 .*later, last", done.text)


RESULTS_UNKNOWN = {
    "--rule fdrr": ("rule 'fdrr'", "'fdr'"),
    "--rule fdr:alpha=null": ("alpha", "'null'"),
    "--min-tasks 9": ("min_tasks=9",),
    "--method denoising": ("denoising",),
    "--method mean_ablation --positions first": ("first",),
}


def test_what_results_do_not_hold_is_one_clear_message(headcats, results):
    for line, parts in RESULTS_UNKNOWN.items():
        headcats("map", results, *line.split()).check_one_message(*parts)


def test_misspelt_options_are_told_before_anything_is_read(headcats):
    for option, parts in (
        ("--rule", ("rule 'most'",)),
        ("--min-tasks", ("min_tasks", "'half'")),
        ("--sign", ("'helping' or 'suppressing'", "got 'most'")),
        ("--effect", ("'total' or 'task_specific'", "got 'most'")),
    ):
        for command in ("map nowhere", "report nowhere", "compare nowhere", "figure head_grid nowhere --out x.html"):
            if not (option == "--effect" and command.startswith("compare")):
                headcats(*command.split(), option, "most").check_one_message(*parts)


def test_an_old_test_in_a_folder_that_cannot_be_written_is_said_and_not_shown(headcats, counting_run, monkeypatch):
    shutil.copytree(counting_run, "my run", ignore=shutil.ignore_patterns(".kept"))
    assert "inconclusive" in headcats("map", "my run").text
    for file in Path("my run/evidence").glob("*.nc"):
        table = read_table(file, again="")
        del table.attrs[STATE]
        file.write_bytes(table_bytes(table))

    def closed(*paths):
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(os, "replace", closed)
    done = headcats("map", "my run")
    assert done.code == 0
    assert re.search(r"earlier\s+state.*`headcats evidence 'my run'`", done.text, re.DOTALL)
    assert not any(verdict in done.text for verdict in VERDICTS)
