"""`hc.sweep`: what it returns, what it records and what it refuses."""

import inspect
import json
import re
import warnings
from typing import Any

import numpy as np
import pytest
import torch
from batches import ROLES, random_batch, random_role_batch
from toys import D_VOCAB, Toy, random_tokens, tiny_model

from headcats.base import registry
from headcats.base.errors import DataError, ExtensionError, ModelWarning, OptionError, UnknownNameError
from headcats.metrics import metric
from headcats.models.adapter import adapt
from headcats.prompts.batch import PromptBatch
from headcats.prompts.batch_checks import UnmatchedPrompts
from headcats.sweeps.batch_sweep import checked_runs, sweep
from headcats.sweeps.reference import Reference


@pytest.fixture(scope="module")
def model() -> Any:
    return tiny_model("gpt2", n_layers=2).model


def changed(batch: PromptBatch, **values: Any) -> PromptBatch:
    return PromptBatch(**{**vars(batch), **values})


class TestResult:
    def test_schema(self, toy: Toy) -> None:
        batch = PromptBatch.from_tokens(
            random_tokens(3, 6), random_tokens(3, 6, seed=1), [5, 6, 7], [8, 9, 10],
            items=["dog", "café →", "dog"], distractor_tasks=["plural", "past", "plural"],
        )  # fmt: skip
        ds = sweep(toy.model, batch, "denoising_patch", metrics=["logit_diff", "prob"])
        assert dict(ds.sizes) == {"metric": 2, "prompt": 3, "layer": 2, "head": 4}
        assert ds.patched.dims == ("metric", "prompt", "layer", "head")
        assert ds.clean.dims == ds.corrupted.dims == ("metric", "prompt")
        assert {name: ds[name].dtype for name in ("patched", "clean", "corrupted")} == dict.fromkeys(
            ("patched", "clean", "corrupted"), np.dtype("float32")
        )
        assert np.isfinite(ds.patched).all()
        assert ds.metric.values.tolist() == ["logit_diff", "prob"]
        assert ds.key.values.tolist() == ["prompt 0", "prompt 1", "prompt 2"]
        assert ds.item.values.tolist() == ["dog", "café →", "dog"]
        assert ds.distractor_task.values.tolist() == ["plural", "past", "plural"]
        assert (ds.layer.values.tolist(), ds["head"].values.tolist()) == ([0, 1], [0, 1, 2, 3])

    def test_attributes_say_what_was_done_and_go_into_a_file(self, toy: Toy, tmp_path: Any) -> None:
        ds = sweep(toy.model, random_batch(), "mean_ablation", path="auto")
        assert ds.attrs == {
            "method": "mean_ablation",
            "base": "clean",
            "positions": "all",
            "path": "suffix",
            "self_check": ds.attrs["self_check"],
            "reference": "this batch's clean prompts, same position",
            "model": adapt(toy.model).name,
            "model_class": type(toy.model).__name__,
            "sign": "positive effect = the head helps the task",
            "provenance": ds.attrs["provenance"],
        }
        assert re.fullmatch(r"passed: largest difference \S+ beside an effect of \S+", ds.attrs["self_check"])
        assert json.loads(ds.attrs["provenance"]) == {k: v for k, v in ds.attrs.items() if k != "provenance"}
        ds.to_netcdf(tmp_path / "block.nc", engine="h5netcdf")
        assert sweep(toy.model, random_batch(), "zero_ablation").attrs["reference"] == "none"


class TestReferences:
    def test_several_ways_to_give_the_same(self, model: Any) -> None:
        batch, held_out = random_batch(), random_batch(6, seed=40)
        ways = [held_out, [held_out], [held_out.select([0, 1]), held_out.select([2, 3, 4, 5])], Reference(held_out)]
        found = [sweep(model, batch, "mean_ablation", reference=way).patched.values for way in ways]
        assert all(np.abs(values - found[0]).max() < 2e-5 for values in found)
        own = sweep(model, batch, "mean_ablation").patched.values
        assert np.abs(own - found[0]).max() > 1e-3

    def test_the_default_is_the_batch_itself_by_index(self, model: Any) -> None:
        # Roles would refuse 4 prompts; positions do not.
        batch = random_role_batch()
        default = sweep(model, batch, "mean_ablation").patched
        given = sweep(model, batch, "mean_ablation", reference=batch.without_roles()).patched
        assert np.array_equal(default.values, given.values)
        with pytest.raises(DataError, match=" 4 reference"):
            sweep(model, batch, "mean_ablation", reference=batch)


class TestRefused:
    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"answer": torch.tensor([5, D_VOCAB, 5, 5])}, r"'prompt 1': answer .*\[60\] .* 59"),
            (
                {"distractor": torch.tensor([9, 9, -1, 9]), "answer": torch.tensor([5] * 4)},
                r"'prompt 2': distractor .*\[-1\]",
            ),
            ({"corrupted": torch.full((4, 7), -3)}, "Prompt 0 .* -3 at position 0"),
        ],
    )  # fmt: skip
    def test_ids_and_lengths(self, model: Any, change: dict[str, Any], message: str) -> None:
        with pytest.raises(DataError, match=message):
            sweep(model, changed(random_batch(), **change), "denoising_patch")

    @pytest.mark.parametrize("positions", ["all", "x1"])
    def test_roles_that_do_not_align(self, model: Any, positions: str) -> None:
        # Two tokens of x1 in one prompt, one in the other; z of the base run's tokens comes from the same roles.
        other = ("bos", "x1[0/2]", "x1[1/2]", "between1", "x_query", "last")
        batch = changed(random_role_batch(task="t"), corrupted_labels=(ROLES, ROLES, other, ROLES))
        with pytest.raises(UnmatchedPrompts, match=r"token 1 .* 'x1\[0/2\]'") as caught:
            sweep(model, batch, "denoising_patch", positions=positions)
        assert caught.value.prompts == (2,)
        for one in ("last", "x_query", "answer"):
            sweep(model, batch, "denoising_patch", positions=one)
        sweep(model, batch, "zero_ablation", positions=positions)  # needs the clean run alone

    def test_unknown_roles(self, model: Any) -> None:
        with pytest.raises(DataError, match=r"'x2'; .*last"):
            sweep(model, random_role_batch(task="t"), "denoising_patch", positions="x2")
        with pytest.raises(DataError, match=r"'x1'; .*answer"):
            sweep(model, random_batch(), "denoising_patch", positions="x1")

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"method": "denoising"}, r"method 'denoising'.* 'denoising_patch'.*zero_"),
            ({"metrics": ["logit_dif"]}, r"metric 'logit_dif'.* 'logit_diff'.*accuracy"),
            ({"path": "hook"}, r"path 'hook'.* 'hooked'.*auto"),
        ],
    )  # fmt: skip
    def test_unknown_names(self, model: Any, options: dict[str, Any], message: str) -> None:
        options = {"method": "denoising_patch"} | options
        with pytest.raises(UnknownNameError, match=message):
            sweep(model, random_batch(), **options)

    def test_a_method_that_edits_no_head(self, model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(registry._tables, "method", dict(registry._tables["method"]))
        registry.register("method", "weights_only", lambda model: None)
        with pytest.raises(OptionError, match=r"hc\.methods\.weights_only"):
            sweep(model, random_batch(), "weights_only")


def test_no_hook_is_left_after_a_metric_that_raises(toy: Toy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry._tables, "metric", dict(registry._tables["metric"]))
    calls = []

    @metric
    def fails_on_patched_rows(logits: torch.Tensor, targets: Any) -> torch.Tensor:
        calls.append(len(logits))
        raise ZeroDivisionError

    model, tokens = adapt(toy.model), random_tokens()
    before = model.logits(tokens)
    with pytest.raises(ExtensionError, match=r"fails_on_patched_rows.* ZeroDivisionError"):
        sweep(model, random_batch(), "denoising_patch", metrics=["fails_on_patched_rows"])
    assert calls == [32]  # all patched rows: four prompts, eight heads
    assert torch.equal(model.logits(tokens), before)
    assert not any(hook.fwd_hooks for hook in toy.model.hook_dict.values())


@pytest.mark.needs_tl3("HookedTransformer")
class TestZeroAblationOfProcessedWeights:
    @pytest.fixture
    def processed(self) -> Any:
        model = tiny_model("gpt2", "hooked", n_layers=2).model
        assert any(block.attn.b_V.any() for block in model.blocks)
        model.load_and_process_state_dict(
            model.state_dict(), fold_ln=False, center_writing_weights=False, center_unembed=False,
            fold_value_biases=True,
        )  # fmt: skip
        return model.eval()

    def test_other_methods_do_not_and_give_what_raw_weights_give(self, processed: Any) -> None:
        raw = tiny_model("gpt2", "hooked", n_layers=2).model
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            sweep(raw, random_batch(), "zero_ablation")
            for method in ("denoising_patch", "noising_patch", "mean_ablation", "resample_ablation"):
                found = [sweep(model, random_batch(), method).patched.values for model in (raw, processed)]
                assert np.abs(found[0] - found[1]).max() < 2e-5
        with pytest.warns(ModelWarning):
            zeroed = [sweep(model, random_batch(), "zero_ablation").patched.values for model in (raw, processed)]
        assert np.abs(zeroed[0] - zeroed[1]).max() > 1e-3


@pytest.mark.parametrize("method", ["mean_ablation:reference=task", "denoising_patch@all"])
def test_the_short_form_of_a_run_is_refused_with_a_hint(model: Any, method: str) -> None:
    with pytest.raises(OptionError, match="positions=, reference="):
        sweep(model, random_batch(3), method)


def test_a_tensor_is_no_batch(model: Any) -> None:
    unchecked = inspect.unwrap(checked_runs)  # without the type checks of the tests
    with pytest.raises(DataError, match="got a Tensor"):
        unchecked(model, random_batch(3).clean, metrics=["kl"], path="auto", memory=None)


@pytest.mark.parametrize("path", ["auto", "hooked"])
def test_numbers_stay_fp32_whatever_torch_makes_by_default(toy: Toy, path: str) -> None:
    batch = random_batch(3)
    expected = sweep(toy.model, batch, "denoising_patch", path=path)
    torch.set_default_dtype(torch.float16)
    try:
        found = sweep(toy.model, batch, "denoising_patch", path=path)
    finally:
        torch.set_default_dtype(torch.float32)
    assert found.patched.dtype == np.float32
    np.testing.assert_array_equal(found.patched, expected.patched)
