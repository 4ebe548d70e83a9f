"""Head gating as a plain function, with saved seeds, and as a method of a study."""

import itertools
import json
import logging
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import xarray as xr
from gate_toys import token_batch
from joint_inputs import suite_inputs
from toys import tiny_model

import headcats as hc
from headcats.base.errors import DataError, ModelError, OptionError, StatisticsWarning, StorageError, UnknownNameError
from headcats.methods.method import SuiteInputs
from headcats.methods.spec import WholeNumber
from headcats.models.adapter import HookedModel, adapt
from headcats.papers.head_gating import head_gating, stages
from headcats.papers.head_gating.over_seeds import always_any
from headcats.papers.head_gating.settings import PRESETS, GatingSettings
from headcats.prompts.answered import AnsweredText
from headcats.prompts.pair import Span

QUICK = GatingSettings(updates=2, batch=4, n_texts=16)
DATA = [token_batch(6, 7, targets=(2, 6)), token_batch(4, 5, seed=1)]
GRIDS = ("g0", "g_plus", "g_minus", "facilitation", "interference", "irrelevance")
ONCE = GatingSettings(updates=1, batch=4, n_texts=16)
SETS = {"a": [token_batch(6, 7, targets=(2, 6))], "b": [token_batch(4, 5, seed=1)]}


@pytest.fixture
def inputs(model: HookedModel, monkeypatch: pytest.MonkeyPatch) -> SuiteInputs:
    monkeypatch.setitem(PRESETS, "chg-mini", QUICK)
    pairs = {
        name: [(f"w{i}", f"w{i + step}") for i in range(8)] for name, step in (("copy", 0), ("next", 1), ("far", 9))
    }
    categories = dict.fromkeys(("copy", "finished", "next", "far", "tiny"), "First kind") | {"far": "B"}
    return suite_inputs(model, {**pairs, "tiny": [("w1", "w2")]}, categories, seed=3)


class TestPlainFunction:
    def test_the_result_is_labelled_and_can_be_read_again(self, model: HookedModel, tmp_path: Path) -> None:
        ds = hc.methods.head_gating(model, DATA, preset=QUICK, n_seeds=2)
        for name in GRIDS:
            assert ds[name].dims == ("dataset", "seed", "layer", "head")
            assert ds[name].shape == (1, 2, 2, 4)
            assert ds[name].dtype == np.float32
            assert bool(((ds[name] >= 0) & (ds[name] <= 1)).all())
        np.testing.assert_array_equal(ds.facilitation, ds.g_minus)
        np.testing.assert_array_equal(ds.interference, 1 - ds.g_plus)
        np.testing.assert_array_equal(ds.irrelevance, ds.g_plus * (1 - ds.g_minus))
        assert ds.loss.dims == ("dataset", "seed", "stage")
        assert ds.stage.values.tolist() == ["g0", "g_plus", "g_minus"]
        assert ds.start_loss.dims == ("dataset", "seed")
        assert ds.dataset.values.tolist() == ["data"]
        assert (int(ds.n[0]), int(ds.n_held_out[0])) == (9, 1)
        assert ds.attrs["method"] == "head_gating"
        provenance = json.loads(ds.attrs["provenance"])
        assert {key: value for key, value in ds.attrs.items() if key != "provenance"} == provenance
        assert "updates=2" in provenance["settings"]
        assert provenance["preset"] == "own"
        ds.to_netcdf(tmp_path / "gates.nc", engine="h5netcdf")
        with xr.open_dataset(tmp_path / "gates.nc", engine="h5netcdf") as read:
            assert read.identical(ds)

    def test_a_seed_is_the_same_alone_and_among_others(self, model: HookedModel) -> None:
        some, one = (hc.methods.head_gating(model, DATA, preset=QUICK, n_seeds=n) for n in (2, 1))
        assert some.sel(seed=[0]).equals(one)
        assert not np.array_equal(some.g0[0, 0], some.g0[0, 1])
        assert not np.array_equal(hc.methods.head_gating(model, DATA, preset=QUICK, n_seeds=1, seed=1).g0, one.g0)

    def test_data_sets_by_name_do_not_depend_on_each_other(self, model: HookedModel) -> None:
        both = hc.methods.head_gating(model, {"a": DATA, "b": DATA[:1]}, preset=QUICK, n_seeds=1)
        assert both.dataset.values.tolist() == ["a", "b"]
        assert both.n.values.tolist() == [9, 5]
        alone = hc.methods.head_gating(model, {"b": DATA[:1]}, preset=QUICK, n_seeds=1)
        assert both.sel(dataset=["b"]).identical(alone)

    def test_a_seed_that_diverges_is_left_out(self, model: HookedModel, monkeypatch: pytest.MonkeyPatch) -> None:
        def check(losses: dict[str, float], *, names: tuple[str, ...]) -> None:
            if names[1] == "1":
                raise DataError("seed 1 diverged.")

        monkeypatch.setattr("headcats.papers.head_gating.stages.check_fit", check)
        with pytest.warns(StatisticsWarning, match="seed 1 diverged"):
            ds = hc.methods.head_gating(model, {"a": DATA}, preset=QUICK, n_seeds=3)
        assert ds.seed.values.tolist() == [0, 2]
        assert [line for line in head_gating.summary(ds) if line.startswith("a: 1 of 3 seeds")]

    def test_a_data_set_of_which_every_seed_diverges_takes_no_other_with_it(
        self, model: HookedModel, inputs: SuiteInputs, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def check(losses: dict[str, float], *, names: tuple[str, ...]) -> None:
            if names[0] in ("bad", "B"):
                raise DataError(f"{names[0]} diverged.")

        monkeypatch.setattr("headcats.papers.head_gating.stages.check_fit", check)
        sets = {"bad": DATA, "good": DATA}
        with pytest.warns(StatisticsWarning, match="bad diverged"):
            assert hc.methods.head_gating(model, sets, preset=QUICK, n_seeds=1).dataset.values.tolist() == ["good"]
        with pytest.raises(DataError, match="bad diverged"):
            hc.methods.head_gating(model, {"bad": DATA}, preset=QUICK, n_seeds=1)
        with pytest.raises(DataError, match="B diverged"):
            head_gating.on_part(inputs, "B/1", preset="chg-mini", n_seeds=2)

    def test_what_was_left_out_of_any_data_set_is_told(self, model: HookedModel) -> None:
        texts = [AnsweredText(f"w{i} → w{i + 1}", (Span(4, 7),)) for i in range(6)]
        strange = AnsweredText("strange → w1", (Span(10, 12),), key="strange one")
        with pytest.warns(StatisticsWarning, match=r"less: 6 kept; 1 word"):
            ds = hc.methods.head_gating(model, {"whole": texts, "less": [*texts, strange]}, preset=QUICK, n_seeds=1)
        assert ds.attrs["left_out"].startswith("less: 6 kept; 1 word ")
        assert "'strange one'" in ds.attrs["left_out"]
        assert json.loads(ds.attrs["provenance"])["left_out"] == ds.attrs["left_out"]
        assert head_gating.summary(ds)[-1] == f"Left out: {ds.attrs['left_out']}"

    def test_the_time_it_will_take_is_told_first(
        self, model: HookedModel, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        clock = SimpleNamespace(monotonic=itertools.count(0, 60).__next__)  # three updates in a minute
        monkeypatch.setattr("headcats.papers.head_gating.fit.time", clock)
        with caplog.at_level(logging.INFO, "headcats"):
            hc.methods.head_gating(model, {"one": DATA, "other": DATA}, preset=QUICK, n_seeds=2)
        told = [record.getMessage() for record in caplog.records if "head_gating" in record.getMessage()]
        assert all("2 min" in text and "6 updates" in text for text in told)
        assert [f"seed {place % 2} of 2: " in text for place, text in enumerate(told)] == [True] * 4

    def test_what_is_refused_before_the_first_fit(self, model: HookedModel, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("headcats.papers.head_gating.fit.fit_gates", None)
        for data, options, error, message in (
            (DATA, {"preset": "chg2024"}, UnknownNameError, "'chg2025'"),
            (DATA, {"n_seeds": 0}, OptionError, "'n_seeds' of head_gating .* got 0"),
            ([AnsweredText("strange", (Span(0, 7),))], {}, DataError, "'data' .*word unknown"),
            ({"good": DATA, "one text": [token_batch(1)]}, {}, DataError, "two items"),
            ({}, {}, DataError, "No data set"),
        ):
            with pytest.raises(error, match=message):
                hc.methods.head_gating(model, data, **options)
        with pytest.raises(ModelError, match="dropout"):
            hc.methods.head_gating(adapt(tiny_model("gpt2", n_layers=1, dropout=0.5).model.train()), DATA)


class TestStudy:
    def test_options_are_those_of_the_paper_first(self) -> None:
        assert head_gating.declaration.kind == "joint"
        assert head_gating.declaration.figure == "always_any"
        assert head_gating.options == {"preset": ("chg2025", "chg-mini"), "n_seeds": WholeNumber(10, least=1)}

    def test_parts_do_not_depend_on_each_other_and_are_joined(self, inputs: SuiteInputs) -> None:
        parts = {
            part: head_gating.on_part(inputs, part, preset="chg-mini", n_seeds=2)
            for part in ("First kind/0", "First kind/1", "B/1")
        }
        again = head_gating.on_part(inputs, "First kind/1", preset="chg-mini", n_seeds=5)
        assert again.equals(parts["First kind/1"])
        whole = head_gating.join(parts)
        assert whole.dataset.values.tolist() == ["First kind", "B"]
        assert whole.seed.values.tolist() == [0, 1]
        for part, block in parts.items():
            category, _, seed = part.rpartition("/")
            assert whole.sel(dataset=[category], seed=[int(seed)]).drop_attrs().equals(block.drop_attrs())
        assert bool(whole.g_plus.sel(dataset="B", seed=0).isnull().all())
        assert bool(whole.loss.sel(dataset="B", seed=0).isnull().all())
        assert json.loads(whole.attrs["provenance"])["preset"] == "chg-mini"
        assert always_any(whole).n_seeds.values.tolist() == [2, 1]
        lines = head_gating.summary(whole)
        assert lines[0].startswith("First kind (2 seeds, ")
        assert lines[1].startswith("B (1 seed, ")
        assert lines[2].startswith("B: 1 of 2 seeds")
        assert "Task 'finished'" in lines[3]
        assert len(lines) == 4  # once, not for every seed
        of_one = head_gating.join({part: parts[part] for part in ("B/1", "First kind/0")})
        assert "'tiny'" in json.loads(of_one.attrs["provenance"])["left_out"]  # whichever part comes first
        assert [line for line in head_gating.summary(of_one) if line.startswith("B: 1 of 2 seeds")]

    def test_texts_come_from_all_tasks_that_can_give_some(self, inputs: SuiteInputs) -> None:
        block = head_gating.on_part(inputs, "First kind/0", preset="chg-mini", n_seeds=1)
        # 6 of each of three tasks, less those of one that has too few pairs; an eighth of 11 or 12 items is held out.
        assert int(block.n[0] + block.n_held_out[0]) == 12
        assert "'tiny' has 1 usable" in block.attrs["left_out"]
        assert "Task 'finished'" in block.attrs["left_out"]
        with pytest.raises(DataError, match="'tiny' has 1 usable"):
            head_gating.on_part(replace(inputs, tasks=inputs.tasks[4:]), "First kind/0", preset="chg-mini", n_seeds=1)
        none = replace(inputs, tasks=inputs.tasks[1:2])
        assert head_gating.parts(none, n_seeds=3) == {"First kind/0": ()}  # skipped once, not for every seed
        with pytest.raises(DataError, match="Task 'finished'"):
            head_gating.on_part(none, "First kind/0", preset="chg-mini", n_seeds=3)
        more = head_gating.on_part(replace(inputs, n_prompts=20), "First kind/0", preset="chg-mini", n_seeds=1)
        assert int(more.n[0] + more.n_held_out[0]) == 40

    def test_progress_goes_from_the_first_update_to_the_last(self, inputs: SuiteInputs) -> None:
        seen: list[tuple[float, str]] = []
        told = inputs.reporting(lambda share, what: seen.append((share, what)))
        head_gating.on_part(told, "B/1", preset="chg-mini", n_seeds=2)
        assert [what for _, what in seen] == ["g0", "g0", "g_plus", "g_plus", "g_minus", "g_minus"]
        assert [share for share, _ in seen] == pytest.approx([1 / 6, 1 / 3, 1 / 2, 2 / 3, 5 / 6, 1])

    def test_the_summary_counts_heads(self, model: HookedModel) -> None:
        ds = hc.methods.head_gating(model, DATA, preset=QUICK, n_seeds=2)
        ds["facilitation"][:] = 0.0
        ds["facilitation"][0, 0, 0, :2] = ds["facilitation"][0, 1, 0, 0] = 0.7
        (line,) = head_gating.summary(ds)
        assert "facilitation from all 2 starts 12.5 %, from any 25.0 %" in line
        assert f"{float(ds.open_loss[0]):.3g} nats" in line
        assert len(head_gating.summary(ds.isel(seed=[0]))) == 3  # a seed is missing; of one seed, always is any


@pytest.fixture
def fits(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """The fits that are made, as data set and number of the seed; the one of ("b", "1") may be stopped."""
    made: list[tuple[str, str]] = []

    def fit(*args: Any, names: tuple[str, str], **options: Any) -> Any:
        made.append(names)
        return stages.fit_gates(*args, names=names, **options)

    monkeypatch.setattr("headcats.papers.head_gating.fit.fit_gates", fit)
    return made


def call(model: HookedModel, out: Path | None, *, n_seeds: int = 2, **options: Any) -> xr.Dataset:
    return head_gating(model, options.pop("data", SETS), preset=options.pop("preset", ONCE), n_seeds=n_seeds, out=out)


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
        patched.setattr("headcats.papers.head_gating.fit.fit_gates", stopped)
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
    for other in ({"data": {"a": SETS["b"]}}, {"preset": GatingSettings(updates=2, batch=4, n_texts=16)}):
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
