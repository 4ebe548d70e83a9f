"""Commands in this process, through the same `main` that the installed `headcats` calls."""

import json
import shutil
import sys
import warnings
from pathlib import Path

import example_joint
import numpy as np
import pytest
from cli.done import JOINT_TASKS, QUICK, SMALL_GATES, Done
from same_registry import same_registry

import headcats as hc
from headcats import cli
from headcats.reports.page.saved import saved_evidence
from headcats.results.folder import ResultsFolder
from headcats.results.loading import open_results
from headcats.results.place import find_place


@pytest.fixture
def headcats(capfd, monkeypatch, tmp_path):
    """Function: arguments -> exit code, stdout, stderr of one command, run in an empty folder."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")

    def command(*arguments) -> Done:
        monkeypatch.setattr(sys, "argv", ["headcats", *map(str, arguments)])
        capfd.readouterr()
        code = 0
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("default")
                cli.main()
        except SystemExit as stop:
            code = stop.code or 0
        return Done(code, *capfd.readouterr())

    return command


@pytest.fixture
def run_quickly(headcats, counting_model_folder):
    """Function: further arguments -> `headcats run` of the counting suite, without pages that take time."""

    def command(*arguments) -> Done:
        return headcats("run", "--model", counting_model_folder, *QUICK, "--no-attention", *arguments)

    return command


@pytest.fixture
def no_page(monkeypatch):
    """Runs write no report: it takes longer than they do."""
    monkeypatch.setattr("headcats.reports.page.writing.report", lambda folder: folder / "report.html")


@pytest.fixture(scope="module")
def results(counting_run: Path, tmp_path_factory) -> Path:
    """A copy of the finished run without its evidence; tests only add what `map` writes."""
    without = shutil.ignore_patterns("evidence*")
    return Path(shutil.copytree(counting_run, tmp_path_factory.mktemp("cli") / "results", ignore=without))


@pytest.fixture
def evidence_asked(counting_run: Path, monkeypatch) -> list[tuple]:
    """Calls of `run_evidence`, which answers with the tables of the finished run; see study/test_evidence_run.py."""
    asked, (tested,) = [], saved_evidence(open_results(find_place(counting_run))).contents.values()

    def run_evidence(*given, **options):
        asked.append((*given, options))
        return tested

    monkeypatch.setattr("headcats.study.evidence_run.run_evidence", run_evidence)
    return asked


# ------------------------------------------------------------------------------------------------------ joint methods


@pytest.fixture(scope="package")
def weighed(mini, tmp_path_factory) -> Path:
    """A folder with `word_weights` of a few tasks; never written to. Whoever reads it registers `joint_methods`."""
    folder = tmp_path_factory.mktemp("joint") / "r"
    with same_registry():
        example_joint.register_all()
        hc.run(mini, methods=["word_weights"], tasks=JOINT_TASKS.split(","), out=folder, progress=False)
    return folder


@pytest.fixture
def scored(weighed, tmp_path) -> Path:
    """A copy of `weighed`."""
    return Path(shutil.copytree(weighed, tmp_path / "r"))


@pytest.fixture
def two_methods(tmp_path, weighed) -> Path:
    """The results of `weighed` with made-up gates."""
    target, source = ResultsFolder(tmp_path / "two"), ResultsFolder(weighed)
    manifest = source.read_manifest()
    facilitation = np.random.default_rng(0).random((2, 3, 6, 8))
    gates = example_joint.gates_of(facilitation, datasets=["Knowledge", "Linguistic"])
    about = {"categories": json.dumps(manifest.category_entries()), "label": SMALL_GATES, "model": "mini"}
    target.write_block("_suite", "word_weights", source.read_block("_suite", "word_weights"))
    target.write_block("_suite", SMALL_GATES, gates.assign_attrs(about))
    manifest.methods = ("word_weights", SMALL_GATES, "class_probe", "spoken_probe")
    manifest.beside = ()
    target.write_manifest(manifest)
    return target.path
