"""Agreement of the methods of a run is computed once."""

from pathlib import Path

import pytest
import xarray as xr
from counting import SUITE, counting_folder

import headcats as hc
from headcats.errors import DataError
from headcats.evidence.comparison import run_agreement as module
from headcats.evidence.comparison.run_agreement import run_agreement
from headcats.results.loading import open_results
from headcats.results.place import find_place

METHODS = ["denoising_patch", "mean_ablation"]
pytestmark = pytest.mark.filterwarnings("ignore::headcats.errors.StatisticsWarning")


@pytest.fixture
def model(tmp_path: Path) -> object:
    return hc.load_model(counting_folder(tmp_path / "model"), device="cpu")


@pytest.mark.ci
def test_it_is_kept_beside_the_blocks(model: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = hc.run(model, suite=SUITE, n_prompts=8, n_demos=2, methods=METHODS, out=tmp_path / "run")
    expected = hc.evidence.method_agreement(hc.evidence.method_scores(tree))
    place = find_place(tmp_path / "run")
    xr.testing.assert_identical(run_agreement(open_results(place)), expected)
    monkeypatch.setattr(module, "method_agreement", None)  # a call would be a TypeError
    xr.testing.assert_identical(run_agreement(open_results(place)), expected)
    with pytest.raises(TypeError):
        run_agreement(open_results(place), metric="logit_diff")


@pytest.mark.ci
def test_a_single_method_agrees_with_none(model: object, tmp_path: Path) -> None:
    hc.run(model, suite=SUITE, n_prompts=8, n_demos=2, methods=METHODS[:1], out=tmp_path / "run")
    with pytest.raises(DataError, match="at least two methods"):
        run_agreement(open_results(find_place(tmp_path / "run")))
