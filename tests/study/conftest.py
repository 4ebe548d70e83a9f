"""Models and finished runs that the tests of the study share."""

import pytest
from counting import STUDY, SUITE, counting_folder
from results import folders

import headcats as hc
from headcats.study.plan import plan
from headcats.study.preparation import Preparation


@pytest.fixture(scope="session")
def model_folder(counting_model_folder):
    """The counting model as a folder on disk."""
    return counting_model_folder


@pytest.fixture(scope="session")
def model(counting_model):
    """The counting model, loaded."""
    return counting_model


@pytest.fixture(scope="session")
def other_model(tmp_path_factory):
    """The counting model with other noise; nobody may change it."""
    return hc.load_model(counting_folder(tmp_path_factory.mktemp("other") / "model", seed=1), device="cpu")


@pytest.fixture(scope="session")
def options():
    """A small study of two tasks, both of which the model can do."""
    return STUDY


@pytest.fixture(scope="session")
def finished(model, tmp_path_factory):
    """Folder of that study, run without interruption; never written to."""
    path = tmp_path_factory.mktemp("finished") / "results"
    hc.run(model, out=path, progress=False, **STUDY)
    return path


@pytest.fixture(scope="session")
def all_options():
    """The study of the whole suite, with a task that the model cannot do."""
    return STUDY | {"suite": SUITE}


@pytest.fixture(scope="session")
def all_finished(model, tmp_path_factory, all_options):
    """Folder of that study; never written to."""
    path = tmp_path_factory.mktemp("all") / "results"
    hc.run(model, out=path, progress=False, **all_options)
    return path


@pytest.fixture(scope="session")
def preparation(model):
    """Prompts of that study."""
    return Preparation(model, plan(suite=SUITE, n_prompts=8, n_demos=2))


@pytest.fixture
def files():
    """Function: folder -> every file with its content and the time it was written."""
    return folders.files
