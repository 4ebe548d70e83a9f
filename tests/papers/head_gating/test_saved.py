"""Seeds of a call that are saved one by one."""

import json
from pathlib import Path
from typing import Any

import pytest
import xarray as xr
from gate_toys import token_batch

from headcats.base.errors import StorageError
from headcats.models.adapter import HookedModel
from headcats.papers.head_gating import head_gating, stages
from headcats.papers.head_gating.settings import GatingSettings

QUICK = GatingSettings(updates=1, batch=4, n_texts=16)
DATA = {"a": [token_batch(6, 7, targets=(2, 6))], "b": [token_batch(4, 5, seed=1)]}


@pytest.fixture
def fits(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """The fits that are made, as data set and number of the seed; the one of ("b", "1") may be stopped."""
    made: list[tuple[str, str]] = []

    def fit(*args: Any, names: tuple[str, str], **options: Any) -> Any:
        made.append(names)
        return stages.fit_gates(*args, names=names, **options)

    monkeypatch.setattr("headcats.papers.head_gating.random_starts.fit_gates", fit)
    return made


def call(model: HookedModel, out: Path | None, *, n_seeds: int = 2, **options: Any) -> xr.Dataset:
    return head_gating(model, options.pop("data", DATA), preset=options.pop("preset", QUICK), n_seeds=n_seeds, out=out)


def test_a_call_that_was_stopped_goes_on_with_the_seed_that_is_missing(
    model: HookedModel, tmp_path: Path, fits: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = call(model, None, n_seeds=1)
    assert fits == [("a", "0"), ("b", "0")]

    def stopped(*args: Any, names: tuple[str, str], **options: Any) -> Any:
        if names == ("b", "0"):
            raise KeyboardInterrupt
        return stages.fit_gates(*args, names=names, **options)

    with monkeypatch.context() as patched:
        patched.setattr("headcats.papers.head_gating.random_starts.fit_gates", stopped)
        with pytest.raises(KeyboardInterrupt):
            call(model, tmp_path, n_seeds=1)
    fits.clear()
    xr.testing.assert_identical(call(model, tmp_path, n_seeds=1), whole)
    gates = call(model, tmp_path)  # more seeds are added to those that are there
    assert fits == [("b", "0"), ("a", "1"), ("b", "1")]
    assert gates.attrs["n_seeds"] == json.loads(gates.attrs["provenance"])["n_seeds"] == "2"


def test_fits_to_something_else_are_refused_and_left_alone(model: HookedModel, tmp_path: Path) -> None:
    call(model, tmp_path, n_seeds=1)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.nc")}
    assert len(before) == 2
    for other in ({"data": {"a": DATA["b"]}}, {"preset": GatingSettings(updates=2, batch=4, n_texts=16)}):
        with pytest.raises(StorageError, match=r"other texts.*out="):
            call(model, tmp_path, n_seeds=1, **other)
        assert {path: path.read_bytes() for path in tmp_path.rglob("*.nc")} == before


def test_the_folder_of_a_run_is_refused_and_left_alone(
    model: HookedModel, tmp_path: Path, fits: list[tuple[str, str]]
) -> None:
    (tmp_path / "manifest.json").write_text("{}", encoding="utf-8")
    with pytest.raises(StorageError, match="of a run"):
        call(model, tmp_path)
    assert fits == []
    assert [path.name for path in tmp_path.iterdir()] == ["manifest.json"]
