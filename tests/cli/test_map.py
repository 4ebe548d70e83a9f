"""`headcats map`: the list of heads, files that do not replace each other, and how it fails."""

import csv
import errno
import os
import re
import shutil

import numpy as np
import pytest
from results.folders import change_manifest

import headcats as hc
from headcats.categories.map_tables import map_tables
from headcats.categories.new_task import NEW_TASK
from headcats.categories.reading import Reading
from headcats.errors import StatisticsWarning
from headcats.results.descriptors import DESCRIPTORS
from headcats.results.run_results import RunResults


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


@pytest.mark.filterwarnings("ignore::headcats.errors.StatisticsWarning")
def test_map_lists_every_head(headcats, results):
    done = headcats("map", results, "--csv", "--all")
    assert done.code == 0, done.err
    rows = list(csv.DictReader((results / "heads-all.csv").read_text(encoding="utf-8").splitlines()))
    overlap = map_tables(RunResults(hc.load(results)).without_untried(), Reading())["overlap"]
    assert len(rows) == overlap["member"].size
    for row in rows:
        layer, head = map(int, re.fullmatch(r"L(\d+)H(\d+)", row["head"]).groups())
        cell = overlap.sel(category=row["category"], layer=layer, head=head)
        has_number = bool(np.isfinite(cell["effect"]))
        state = "in" if cell["member"] == 1 else "undecided" if cell["undecided"] else "out"
        assert row["outcome"] == (state if has_number else "not judged")
        assert float(row["effect"] or "nan") == pytest.approx(cell["effect"].item(), nan_ok=True)
    headcats("map", results, "--all").check_one_message("--all")


def test_maps_of_other_options_do_not_replace_the_first(headcats, results):
    assert headcats("map", results, "--csv").code == 0
    first = {name: (results / name).read_bytes() for name in ("overlap_map.html", "heads.csv")}
    # A method can be named as `run` names it.
    method = "mean_ablation@all"
    done = headcats("map", results, "--method", method, "--csv", "--details")
    assert done.code == 0, done.err
    assert f"overlap_map-{method}.html" in done.text
    assert "mean_ablation at" in done.text
    assert "mean_ablation at" in (results / f"overlap_map-{method}.html").read_text(encoding="utf-8")
    assert (results / f"heads-{method}.csv").exists()
    done = headcats("map", results, "--csv", "--min-tasks", 1, "--rule", "threshold:value=0.2", "--details")
    assert done.code == 0, done.err
    assert re.search(r"heads-\S+=0\.2-min_tasks=1\.", done.text)
    assert "at least 1 task" in done.text
    assert "threshold(value=0.2" in done.text
    assert "Note: min_tasks=1 " in done.err
    assert {name: (results / name).read_bytes() for name in first} == first


@pytest.mark.slow  # scores/test_scoring.py has the numbers
def test_a_map_in_threads_is_the_same(headcats, counting_run, tmp_path):
    printed = []
    for jobs in (1, 3):
        folder = tmp_path / str(jobs) / "results"
        shutil.copytree(counting_run, folder, ignore=shutil.ignore_patterns(".kept"))
        done = headcats("map", folder, "--jobs", jobs)
        assert done.code == 0
        printed.append(done.out.replace(str(folder), ""))
    assert printed[0] == printed[1]


def test_a_map_of_a_run_that_was_stopped_says_so(headcats, results, tmp_path):
    copy = shutil.copytree(results, tmp_path / "stopped")
    change_manifest(copy, lambda manifest: manifest["asked"].extend(["later", "last"]))
    done = headcats("map", copy)
    assert done.code == 0, done.err
    assert re.search(r"4 of 6 .*later, last", done.text)


def test_map_on_a_full_disk_leaves_the_old_files(headcats, results, monkeypatch):
    assert headcats("map", results, "--csv").code == 0
    before = {path: path.read_bytes() for path in results.rglob("*") if path.is_file()}

    def full(source, target):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as disk:
        disk.setattr(os, "replace", full)
        done = headcats("map", results, "--csv", "--method", "mean_ablation", "--positions", "all")
    assert done.code == 2
    assert "No space left" in done.text
    assert {path: path.read_bytes() for path in results.rglob("*") if path.is_file()} == before


RESULTS_UNKNOWN = {
    "--rule fdrr": ("rule 'fdrr'", "'fdr'"),
    "--rule fdr:alfa=0.1": ("'alfa'", "'alpha'"),
    "--rule fdr:alpha=small": ("alpha", "'small'"),
    "--rule fdr:alpha=null": ("alpha", "'null'"),
    '--rule threshold:value="a"': ("value of rule threshold",),
    "--rule sd_above_mean:k=[1]": ("k of rule sd_above_mean",),
    "--rule fdr:alpha=1.5": ("alpha",),
    "--min-tasks most": ("min_tasks", "'most'"),
    "--min-tasks 9": ("min_tasks=9",),
    "--jobs 0": ("jobs",),
    "--method denoising": ("denoising",),
    "--metric prob": ("prob",),
    "--method mean_ablation --positions first": ("first",),
    "--method mean_ablation@all --positions last": ("positions last",),
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
