"""Models and finished runs that the tests of the study share."""

from pathlib import Path

import pytest
from counting import SUITE

import headcats as hc
from headcats import registry
from headcats.study.plan import plan
from headcats.study.preparation import Preparation

OPTIONS = {"suite": SUITE, "n_prompts": 8, "n_demos": 2, "methods": ["denoising_patch", "mean_ablation"]}


@pytest.fixture(scope="session")
def model_folder(counting_model_folder):
    """The counting model as a folder on disk."""
    return counting_model_folder


@pytest.fixture(scope="session")
def model(counting_model):
    """The counting model, loaded."""
    return counting_model


@pytest.fixture(scope="session")
def options():
    """A small study that takes less than a second."""
    return OPTIONS


@pytest.fixture(scope="session")
def finished(model, tmp_path_factory):
    """Folder of that study, run without interruption; never written to."""
    path = tmp_path_factory.mktemp("finished") / "results"
    hc.run(model, out=path, **OPTIONS)
    return path


@pytest.fixture(scope="session")
def preparation(model):
    """Prompts of that study."""
    return Preparation(model, plan(suite_source=SUITE, n_prompts=8, n_demos=2))


@pytest.fixture
def tables(monkeypatch):
    """A copy of the registry, so that a test's items are gone afterwards."""
    monkeypatch.setattr(registry, "_tables", {kind: dict(table) for kind, table in registry._tables.items()})


@pytest.fixture
def files():
    """Function: folder -> every file with its content and the time it was written."""

    def read(path, pattern="*"):
        return {
            str(file.relative_to(path)): (file.read_bytes(), file.stat().st_mtime_ns)
            for file in sorted(Path(path).rglob(pattern))
            if file.is_file()
        }

    return read
