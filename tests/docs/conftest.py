"""Modules of `docs/`, and what examples find in the current directory.

A small finished run of the bundled model, the series over its training that `tutorials/` holds, and two checkpoints.
"""

import json
import shutil
import sys
from pathlib import Path

import pytest
import torch
from examples_run import Outcome, SmallRun, outcome_of
from made_once import made_once
from transformers import AutoModelForCausalLM

import headcats as hc
from headcats.base.registry import lookup

ROOT = Path(__file__).parents[2]
SERIES = ROOT / "tutorials" / "mini-checkpoints.tar.xz"
sys.path.insert(0, str(ROOT / "docs" / "scripts"))

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

    def make(here: Path) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(here)
            # Two demonstrations instead of five: prompts of half the length.
            sizes = {"tasks": TASKS, "n_prompts": 16, "n_demos": 2}
            hc.run("mini", methods=METHODS, out="results/mini-icl", progress=False, **sizes)
            evidence = outcome_of("run_evidence", hc.run_evidence.__doc__ or "")
            Path("evidence.json").write_text(json.dumps(evidence), encoding="utf-8")

    here = made_once(tmp_path_factory, "examples", make)
    evidence = Outcome(*json.loads((here / "evidence.json").read_text(encoding="utf-8")))
    return SmallRun(here / "results" / "mini-icl", evidence)


@pytest.fixture(scope="session")
def series(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The series over the training of the bundled model; never written to."""
    folder = tmp_path_factory.mktemp("series")
    shutil.unpack_archive(SERIES, folder, filter="data")
    return folder / "mini-checkpoints"


@pytest.fixture(scope="session")
def two_checkpoints(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`step8000`, the bundled model, and `step500`, which has other weights, beside the tokenizer of both."""
    folder, mini = tmp_path_factory.mktemp("checkpoints"), lookup("model", "mini")
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(mini / name, folder)
    model = AutoModelForCausalLM.from_pretrained(mini, local_files_only=True)
    for step, factor in {8000: 1.0, 500: 0.9}.items():
        with torch.no_grad():
            model.model.layers[-1].mlp.down_proj.weight.mul_(factor)
        model.save_pretrained(folder / f"step{step}")
    return folder


@pytest.fixture
def current_directory(
    small_run: SmallRun, series: Path, two_checkpoints: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """A new directory with `results/mini-icl`, `results/mini-checkpoints` and `checkpoints`.

    An example may write there what it likes.
    """
    shutil.copytree(small_run.folder, tmp_path / "results" / "mini-icl")
    shutil.copytree(series, tmp_path / "results" / "mini-checkpoints")
    (tmp_path / "checkpoints").symlink_to(two_checkpoints)
    monkeypatch.chdir(tmp_path)
    return tmp_path
