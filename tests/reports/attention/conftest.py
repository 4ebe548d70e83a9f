"""A finished study of the counting model: head L0H0 looks at all tokens alike, and serves its tasks."""

import shutil
from pathlib import Path

import pytest

from headcats.models.adapter import HookedModel


@pytest.fixture(scope="session")
def model(counting_model: HookedModel) -> HookedModel:
    """The counting model; nobody may change it."""
    return counting_model


@pytest.fixture
def folder(counting_run: Path, tmp_path: Path) -> Path:
    """A copy of the finished run."""
    return Path(shutil.copytree(counting_run, tmp_path / "results"))
