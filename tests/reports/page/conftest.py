"""A finished run on a tiny model, its report, and that in a browser without network."""

import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import Tab
from counting import counting_folder, counting_suite
from made_once import made_once
from playwright.sync_api import Browser

import headcats as hc
from headcats.errors import HeadcatsWarning

METHODS = ["denoising_patch", "second_corruption_patch", "mean_ablation"]


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results folder of a run with three methods on the tiny model, and the evidence for it."""

    def make(home: Path) -> None:
        model = hc.load_model(counting_folder(home / "model"))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", HeadcatsWarning)
            hc.run(model, suite=counting_suite(), methods=METHODS, n_prompts=12, n_demos=2, out=home / "results")
            hc.run_evidence(model, home / "results", n_prompts=4, relabellings=19)
        hc.report(home / "results", home / "page" / "report.html")  # copies of the folder have the tables that it keeps

    return made_once(tmp_path_factory, "page", make) / "results"


@pytest.fixture(scope="session")
def page(finished: Path) -> Path:
    """The report of that run."""
    return finished.parent / "page" / "report.html"


@pytest.fixture
def tab(browser: Browser, page: Path) -> Iterator[Tab]:
    """The report, opened from disk with the network off; at the end nothing may have gone wrong."""
    with Tab.on(browser, page, width=1440) as found:
        yield found
