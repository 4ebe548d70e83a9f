"""Seeds of a call that are saved one by one."""

import json
from pathlib import Path
from typing import Any

import pytest
import xarray as xr
from gate_toys import token_batch
from toys import tiny_model

from headcats.errors import StorageError
from headcats.methods.head_gating import head_gating, stages
from headcats.methods.head_gating.settings import GatingSettings
from headcats.models.adapter import HookedModel

QUICK = GatingSettings(updates=2, batch=4, n_texts=16)
DATA = {"a": [token_batch(6, 7, targets=(2, 6))], "b": [token_batch(4, 5, seed=1)]}


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> HookedModel:
    """Random weights: what they learn of some texts is of no use for others, which is no concern of these tests."""
    monkeypatch.setattr("headcats.methods.head_gating.stages.check_fit", lambda *args, **options: None)
    return HookedModel(tiny_model("gpt2", n_layers=2).model)


@pytest.fixture
def fits(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """The fits that are made, as data set and number of the seed; the one of ("b", "1") may be stopped."""
    made: list[tuple[str, str]] = []

    def fit(*args: Any, names: tuple[str, str], **options: Any) -> Any:
        made.append(names)
        return stages.fit_gates(*args, names=names, **options)

    monkeypatch.setattr("headcats.methods.head_gating.random_starts.fit_gates", fit)
    return made


def call(model: HookedModel, out: Path | None, *, n_seeds: int = 2, **options: Any) -> xr.Dataset:
    return head_gating(model, options.pop("data", DATA), preset=options.pop("preset", QUICK), n_seeds=n_seeds, out=out)


@pytest.mark.ci
def test_a_call_that_was_stopped_goes_on_with_the_seed_that_is_missing(
    model: HookedModel, tmp_path: Path, fits: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = call(model, None)
    assert fits == [("a", "0"), ("a", "1"), ("b", "0"), ("b", "1")]

    def stopped(*args: Any, names: tuple[str, str], **options: Any) -> Any:
        if names == ("b", "0"):
            raise KeyboardInterrupt
        return stages.fit_gates(*args, names=names, **options)

    with monkeypatch.context() as patched:
        patched.setattr("headcats.methods.head_gating.random_starts.fit_gates", stopped)
        with pytest.raises(KeyboardInterrupt):
            call(model, tmp_path)
    fits.clear()
    xr.testing.assert_identical(call(model, tmp_path), whole)
    assert fits == [("b", "0"), ("b", "1")]


@pytest.mark.ci
def test_more_seeds_are_added_to_those_that_are_there(
    model: HookedModel, tmp_path: Path, fits: list[tuple[str, str]]
) -> None:
    call(model, tmp_path, n_seeds=1)
    fits.clear()
    gates = call(model, tmp_path)
    assert fits == [("a", "1"), ("b", "1")]
    assert gates.attrs["n_seeds"] == json.loads(gates.attrs["provenance"])["n_seeds"] == "2"


@pytest.mark.parametrize(
    "other",
    [
        pytest.param({"data": {"a": DATA["b"]}}, id="data"),
        pytest.param({"preset": GatingSettings(updates=3, batch=4, n_texts=16)}, id="settings", marks=pytest.mark.ci),
    ],
)
def test_fits_to_something_else_are_refused_and_left_alone(
    model: HookedModel, tmp_path: Path, other: dict[str, Any]
) -> None:
    call(model, tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.nc")}
    assert len(before) == 4
    with pytest.raises(StorageError, match=r"other texts.*out="):
        call(model, tmp_path, **other)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*.nc")} == before


def test_the_folder_of_a_run_is_refused_and_left_alone(
    model: HookedModel, tmp_path: Path, fits: list[tuple[str, str]]
) -> None:
    (tmp_path / "manifest.json").write_text("{}", encoding="utf-8")
    with pytest.raises(StorageError, match="results of a run"):
        call(model, tmp_path)
    assert fits == []
    assert [path.name for path in tmp_path.iterdir()] == ["manifest.json"]
