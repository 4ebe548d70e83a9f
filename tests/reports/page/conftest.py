"""The report of the run that all tests share, and pages in a browser without network."""

import shutil
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def page(counting_run: Path) -> Path:
    """The report of that run."""
    return counting_run.parent / "page" / "report.html"


@pytest.fixture
def copied(counting_run: Path, tmp_path: Path) -> Path:
    """A copy of the results folder that may be changed."""
    return Path(shutil.copytree(counting_run, tmp_path / "results"))


@pytest.fixture
def opened(browser):
    """Function: a file, and how it is to be opened -> its tab, within `with`; nothing may go wrong in it."""
    from browser import Tab

    def open_file(file: Path, **options):
        return Tab.on(browser, file, **{"width": 1440} | options)

    return open_file


@pytest.fixture
def tab(opened, page: Path):
    """The report, opened from disk with the network off."""
    with opened(page) as found:
        yield found
