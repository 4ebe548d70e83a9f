"""Modules of `docs/`, and what examples find in the current directory: a small finished run of the bundled model."""

import shutil
import sys
from pathlib import Path

import pytest
from examples_run import SmallRun, outcome_of

import headcats as hc

sys.path.insert(0, str(Path(__file__).parents[2] / "docs"))

TASKS = [
    "successor",
    "list_first",
    "country_capital",
    "animal_class",
    "past_tense",
    "plural",
    "english_french",
    "french_english",
]
METHODS = ["denoising_patch", "second_corruption_patch", "mean_ablation"]


@pytest.fixture(scope="session")
def small_run(tmp_path_factory: pytest.TempPathFactory) -> SmallRun:
    """Results of two tasks of every category; never written to.

    The evidence about them is what the example of `hc.run_evidence` leaves, which so takes its seconds once.
    """
    here = tmp_path_factory.mktemp("examples")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(here)
        # Two demonstrations instead of five: prompts of half the length.
        sizes = {"tasks": TASKS, "n_prompts": 16, "n_demos": 2}
        hc.run("mini", methods=METHODS, out="results/mini-icl", progress=False, **sizes)
        evidence = outcome_of("run_evidence", hc.run_evidence.__doc__ or "")
    return SmallRun(here / "results" / "mini-icl", evidence)


@pytest.fixture
def current_directory(small_run: SmallRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A new directory with `results/mini-icl`, so that an example may write what it likes."""
    shutil.copytree(small_run.folder, tmp_path / "results" / "mini-icl")
    monkeypatch.chdir(tmp_path)
    return tmp_path
