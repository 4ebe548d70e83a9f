"""The counting model and a finished study of it: head L0H0 looks at all tokens alike, and serves its tasks."""

import shutil
from pathlib import Path

import pytest
from counting import SUITE, counting_folder

import headcats as hc


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> hc.HookedModel:
    """The counting model, loaded."""
    return hc.load_model(counting_folder(tmp_path_factory.mktemp("counting")), device="cpu")


@pytest.fixture(scope="session")
def finished(model: hc.HookedModel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A results folder that is never written to."""
    path = tmp_path_factory.mktemp("finished") / "results"
    methods = ["denoising_patch", "second_corruption_patch"]
    hc.run(model, suite=SUITE, n_prompts=40, n_demos=2, methods=methods, out=path)
    return path


@pytest.fixture
def folder(finished: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copytree(finished, tmp_path / "results"))
