"""Head gating as a plain function and as a method of a study."""

import itertools
import json
import logging
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
import xarray as xr
from counting import counting_folder
from gate_toys import token_batch
from toys import tiny_model

import headcats as hc
from headcats.errors import DataError, ModelError, OptionError, StatisticsWarning, UnknownNameError
from headcats.methods.head_gating import head_gating
from headcats.methods.head_gating.over_seeds import always_any
from headcats.methods.head_gating.settings import PRESETS, GatingSettings
from headcats.methods.head_gating.stages import fit_gates
from headcats.methods.joint.inputs import SuiteInputs
from headcats.methods.spec import WholeNumber
from headcats.models.adapter import HookedModel, adapt
from headcats.prompts.answered import AnsweredText
from headcats.prompts.pair import Span
from headcats.registry import lookup
from headcats.results.run_results import suite_blocks
from headcats.tasks.definition import Task

QUICK = GatingSettings(updates=2, batch=4, n_texts=16)
DATA = [token_batch(6, 7, targets=(2, 6)), token_batch(4, 5, seed=1)]
GRIDS = ("g0", "g_plus", "g_minus", "facilitation", "interference", "irrelevance")


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> HookedModel:
    """Random weights: what they learn of some texts is of no use for others, which is no concern of these tests."""
    monkeypatch.setattr("headcats.methods.head_gating.stages.check_fit", lambda losses, *, names: None)
    toy = tiny_model("gpt2", n_layers=2)
    return HookedModel(toy.model, tokenizer=toy.tokenizer)


@pytest.fixture
def inputs(model: HookedModel, monkeypatch: pytest.MonkeyPatch) -> SuiteInputs:
    monkeypatch.setitem(PRESETS, "chg-mini", QUICK)
    pairs = {
        "copy": [(f"w{i}", f"w{i}") for i in range(8)],
        "next": [(f"w{i}", f"w{i + 1}") for i in range(8)],
        "far": [(f"w{i}", f"w{i + 9}") for i in range(8)],
        "tiny": [("w1", "w2")],
    }
    tasks = [Task(name, "A" if name != "far" else "B", "made up", lambda n, *, seed: []) for name in pairs]
    tasks.insert(1, Task("finished", "A", "made up", lambda n, *, seed: []))
    return SuiteInputs(
        model=model,
        tasks=tuple(tasks),
        categories={task.name: {"A": "First kind", "B": "B"}[task.category] for task in tasks},
        pairs=pairs,
        template=lookup("template", "arrow"),
        n_demos=2,
        n_prompts=4,
        seed=3,
    )


class TestPlainFunction:
    def test_the_result_is_labelled(self, model: HookedModel) -> None:
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

    def test_it_can_be_written_and_read(self, model: HookedModel, tmp_path: Any) -> None:
        ds = hc.methods.head_gating(model, DATA, preset=QUICK, n_seeds=1)
        ds.to_netcdf(tmp_path / "gates.nc", engine="h5netcdf")
        with xr.open_dataset(tmp_path / "gates.nc", engine="h5netcdf") as read:
            assert read.identical(ds)

    def test_a_seed_is_the_same_alone_and_among_others(self, model: HookedModel) -> None:
        some, one = (hc.methods.head_gating(model, DATA, preset=QUICK, n_seeds=n) for n in (3, 1))
        assert some.sel(seed=[0]).equals(one)
        assert not np.array_equal(some.g0[0, 0], some.g0[0, 1])
        assert not np.array_equal(hc.methods.head_gating(model, DATA, preset=QUICK, n_seeds=1, seed=1).g0, one.g0)

    def test_data_sets_by_name_do_not_depend_on_each_other(self, model: HookedModel) -> None:
        both = hc.methods.head_gating(model, {"a": DATA, "b": DATA[:1]}, preset=QUICK, n_seeds=1)
        assert both.dataset.values.tolist() == ["a", "b"]
        assert both.n.values.tolist() == [9, 5]
        alone = hc.methods.head_gating(model, {"b": DATA[:1]}, preset=QUICK, n_seeds=1)
        assert both.sel(dataset=["b"]).identical(alone)

    def test_texts_and_tokens_are_the_same(self, model: HookedModel) -> None:
        texts = [AnsweredText(f"w{i} → w{i + 1}", (Span(4, 7),)) for i in range(6)]
        tokens = torch.tensor([[0, 6 + i, 3, 7 + i] for i in range(6)])
        batch = replace(token_batch(6, 4), tokens=tokens)
        of_texts, of_tokens = (
            hc.methods.head_gating(model, data, preset=QUICK, n_seeds=1) for data in (texts, [batch])
        )
        assert of_texts.identical(of_tokens)

    def test_a_seed_that_diverges_is_left_out(self, model: HookedModel, monkeypatch: pytest.MonkeyPatch) -> None:
        def check(losses: dict[str, float], *, names: tuple[str, ...]) -> None:
            if names[1] == "1":
                raise DataError("seed 1 diverged.")

        monkeypatch.setattr("headcats.methods.head_gating.stages.check_fit", check)
        with pytest.warns(StatisticsWarning, match="seed 1 diverged"):
            ds = hc.methods.head_gating(model, {"a": DATA}, preset=QUICK, n_seeds=3)
        assert ds.seed.values.tolist() == [0, 2]
        assert [line for line in head_gating.summary(ds) if line.startswith("a: 1 of 3 seeds")]

    def test_a_data_set_of_which_every_seed_diverges_takes_no_other_with_it(
        self, model: HookedModel, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def check(losses: dict[str, float], *, names: tuple[str, ...]) -> None:
            if names[0] == "bad":
                raise DataError(f"{names[0]} diverged.")

        monkeypatch.setattr("headcats.methods.head_gating.stages.check_fit", check)
        sets = {"bad": DATA, "good": DATA}
        with pytest.warns(StatisticsWarning, match="left: bad diverged"):
            assert hc.methods.head_gating(model, sets, preset=QUICK, n_seeds=1).dataset.values.tolist() == ["good"]
        with pytest.raises(DataError, match="bad diverged"):
            hc.methods.head_gating(model, {"bad": DATA}, preset=QUICK, n_seeds=1)

    def test_data_that_cannot_be_split_are_refused_before_the_first_fit(
        self, model: HookedModel, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("headcats.methods.head_gating.random_starts.fit_gates", None)
        with pytest.raises(DataError, match="two items"):
            hc.methods.head_gating(model, {"good": DATA, "one text": [token_batch(1)]}, preset=QUICK)
        with pytest.raises(DataError, match="No data set"):
            hc.methods.head_gating(model, {})

    def test_what_was_left_out_of_any_data_set_is_told(self, model: HookedModel) -> None:
        texts = [AnsweredText(f"w{i} → w{i + 1}", (Span(4, 7),)) for i in range(6)]
        strange = AnsweredText("strange → w1", (Span(10, 12),), key="strange one")
        with pytest.warns(StatisticsWarning, match=r"less: 6 kept; 1 word"):
            ds = hc.methods.head_gating(model, {"whole": texts, "less": [*texts, strange]}, preset=QUICK, n_seeds=1)
        assert ds.attrs["left_out"].startswith("less: 6 kept; 1 word ")
        assert "'strange one'" in ds.attrs["left_out"]
        assert json.loads(ds.attrs["provenance"])["left_out"] == ds.attrs["left_out"]
        assert head_gating.summary(ds)[-1] == f"Left out: {ds.attrs['left_out']}"

    @pytest.mark.ci
    def test_the_time_it_will_take_is_told_first(
        self, model: HookedModel, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        clock = SimpleNamespace(monotonic=itertools.count(0, 60).__next__)  # three updates in a minute
        monkeypatch.setattr("headcats.methods.head_gating.random_starts.time", clock)
        with caplog.at_level(logging.INFO, "headcats"):
            hc.methods.head_gating(model, DATA, preset=QUICK, n_seeds=2)
        told = [record.getMessage() for record in caplog.records if "head_gating" in record.getMessage()]
        assert all("about 2 min" in text and "6 updates" in text for text in told)
        assert ["seed 0: " in told[0], "4 min for " in told[0]] == [True, True]
        assert ["seed 1: " in told[1], "fits" in told[1]] == [True, False]
        caplog.clear()
        with caplog.at_level(logging.INFO, "headcats"):
            hc.methods.head_gating(model, {"one": DATA, "other": DATA}, preset=QUICK, n_seeds=2)
        told = [record.getMessage() for record in caplog.records if "head_gating" in record.getMessage()]
        assert ["8 min for " in told[0], "6 min for " in told[1]] == [True] * 2
        assert ["4 min for " in told[2], "fits" in told[3]] == [True, False]

    @pytest.mark.parametrize(
        ("options", "error", "message"),
        [
            ({"preset": "chg2024"}, UnknownNameError, "Did you mean 'chg2025'"),
            ({"n_seeds": 0}, OptionError, "'n_seeds' of head_gating .* got 0"),
        ],
    )
    def test_wrong_options(self, model: HookedModel, options: Any, error: type[Exception], message: str) -> None:
        with pytest.raises(error, match=message):
            hc.methods.head_gating(model, DATA, **options)

    def test_wrong_data(self, model: HookedModel) -> None:
        with pytest.raises(DataError, match=r"'data' .*word unknown"):
            hc.methods.head_gating(model, [AnsweredText("strange", (Span(0, 7),))])
        with pytest.raises(DataError, match="two items"):
            hc.methods.head_gating(model, [token_batch(1)])

    def test_dropout_is_refused(self) -> None:
        with pytest.raises(ModelError, match="dropout"):
            hc.methods.head_gating(adapt(tiny_model("gpt2", n_layers=1, dropout=0.5).model.train()), DATA)


class TestStudy:
    def test_options_are_those_of_the_paper_first(self) -> None:
        assert head_gating.declaration.kind == "joint"
        assert head_gating.declaration.figure == "always_any"
        assert head_gating.options == {"preset": ("chg2025", "chg-mini"), "n_seeds": WholeNumber(10, least=1)}

    def test_a_part_is_a_seed_of_a_category(self, inputs: SuiteInputs) -> None:
        first = ("copy", "next", "tiny")
        assert head_gating.parts(inputs, n_seeds=2) == {
            "First kind/0": first, "First kind/1": first, "B/0": ("far",), "B/1": ("far",),
        }  # fmt: skip
        assert len(head_gating.parts(inputs)) == 20

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
        assert "facilitation always 12.5 %, any 25.0 %" in line
        assert f"{float(ds.open_loss[0]):.3g} nats" in line
        assert len(head_gating.summary(ds.isel(seed=[0]))) == 3  # a seed is missing; of one seed, always is any

    def test_a_part_that_diverges_raises(self, inputs: SuiteInputs, monkeypatch: pytest.MonkeyPatch) -> None:
        def check(losses: dict[str, float], *, names: tuple[str, ...]) -> None:
            raise DataError(f"{names} diverged.")

        monkeypatch.setattr("headcats.methods.head_gating.stages.check_fit", check)
        with pytest.raises(DataError, match=r"\('B', '1'\) diverged"):
            head_gating.on_part(inputs, "B/1", preset="chg-mini", n_seeds=2)


@pytest.mark.ci
def test_a_study_goes_on_at_the_seed_where_it_was_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PRESETS, "chg-mini", QUICK)
    monkeypatch.setattr("headcats.methods.head_gating.stages.check_fit", lambda losses, *, names: None)
    model, fitted, stop_at = hc.load_model(counting_folder(tmp_path / "model"), device="cpu"), [], "Linguistic/0"
    real = fit_gates

    def watched(*args: Any, names: tuple[str, ...], **options: Any) -> Any:
        if "/".join(names) == stop_at:
            raise KeyboardInterrupt
        fitted.append("/".join(names))
        return real(*args, names=names, **options)

    monkeypatch.setattr("headcats.methods.head_gating.random_starts.fit_gates", watched)

    def run(out: Path) -> xr.Dataset:
        tasks = ["always_a", "always_b", "always_c"]
        methods = ["head_gating:n_seeds=2,preset=chg-mini"]
        options = {"tasks": tasks, "n_prompts": 4, "n_demos": 2, "progress": False}
        return suite_blocks(hc.run(model, suite="counting", methods=methods, out=out, **options))[methods[0]]

    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "stopped")
    stop_at = ""
    resumed = run(tmp_path / "stopped")
    assert fitted == ["Knowledge/0", "Knowledge/1", "Linguistic/0", "Linguistic/1"]
    assert resumed.dataset.values.tolist() == ["Knowledge", "Linguistic"]
    xr.testing.assert_equal(resumed, run(tmp_path / "whole"))
