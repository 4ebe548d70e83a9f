"""Agreement of the methods of a run is computed once."""

import shutil
from pathlib import Path

import pytest
import xarray as xr

import headcats as hc
from headcats.evidence.comparison import run_agreement as module
from headcats.evidence.comparison.run_agreement import run_agreement
from headcats.results.loading import open_results
from headcats.results.place import find_place

pytestmark = pytest.mark.filterwarnings("ignore::headcats.base.errors.StatisticsWarning")


def test_it_is_kept_beside_the_blocks(counting_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(counting_run, tmp_path / "run", ignore=shutil.ignore_patterns(".kept"))
    place = find_place(tmp_path / "run")
    expected = hc.evidence.method_agreement(hc.evidence.method_scores(hc.load(tmp_path / "run")))
    xr.testing.assert_identical(run_agreement(open_results(place)), expected)
    monkeypatch.setattr(module, "method_agreement", None)  # a call would be a TypeError
    xr.testing.assert_identical(run_agreement(open_results(place)), expected)
    with pytest.raises(TypeError):
        run_agreement(open_results(place), metric="logit_diff")
