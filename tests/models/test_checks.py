import json
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from toys import Toy, random_tokens, tiny_model, word_tokenizer

from headcats.base.errors import DataError, ModelError
from headcats.models.adapter import HookedModel, adapt
from headcats.models.checks import check_clean_unchanged, check_hooks, check_model, check_residual, noise_floor
from headcats.models.loading import load_model


@pytest.fixture
def clean() -> torch.Tensor:
    return random_tokens(seed=1)


@pytest.fixture
def corrupted() -> torch.Tensor:
    return random_tokens(seed=2)


@pytest.fixture
def model() -> HookedModel:
    return adapt(tiny_model("llama").model)


@pytest.fixture
def every_model(any_toy: Toy) -> HookedModel:
    return adapt(any_toy.model)


class TestModel:
    def test_a_sound_model_passes_and_reports_plain_values(self, model: HookedModel) -> None:
        before = torch.random.get_rng_state()
        report = check_model(model)
        assert report["train_mode"] is False
        assert report["n_weights"] == sum(p.numel() for p in model.model.parameters())
        assert json.loads(json.dumps(report)) == report
        assert torch.equal(torch.random.get_rng_state(), before)

    def test_a_bridge_that_adds_up_results_of_heads_is_checked_by_what_it_writes(self, model: HookedModel) -> None:
        model.model.set_use_attn_result(True)
        check_model(model)
        model.model.blocks[1].attn.register_forward_hook(lambda *args: (1.5 * args[2][0], *args[2][1:]))
        with pytest.raises(ModelError, match="of layer 1"):
            check_model(model)

    @pytest.mark.parametrize(("value", "what"), [(float("nan"), "NaN"), (float("inf"), "infinite values")])
    def test_a_weight_that_is_not_finite_is_named(self, model: HookedModel, value: float, what: str) -> None:
        with torch.no_grad():
            next(p for name, p in model.model.named_parameters() if "mlp" in name and p.ndim == 2)[1, 2] = value
        with pytest.raises(ModelError, match=rf"'[\w.]*mlp[\w.]*' .* holds {what}") as error:
            check_model(model)
        assert "_original_component" not in str(error.value)

    def test_train_mode_with_dropout_is_refused(self) -> None:
        raw = tiny_model("gpt2", dropout=1e-9).model
        assert check_model(adapt(raw))["train_mode"] is False
        raw.train()
        with pytest.raises(ModelError, match=r"dropout \(.*\.eval\(\)"):
            check_model(adapt(raw))
        assert raw.training

    def test_train_mode_without_dropout_is_allowed(self, model: HookedModel) -> None:
        model.model.train()
        assert check_model(model)["train_mode"] is True

    def test_randomness_that_no_module_admits_to_is_refused(self, monkeypatch: pytest.MonkeyPatch) -> None:
        raw = tiny_model("gpt2").model.train()
        original = raw.run_with_hooks
        monkeypatch.setattr(raw, "run_with_hooks", lambda *a, **kw: torch.nn.functional.dropout(original(*a, **kw)))
        before = torch.random.get_rng_state()
        with pytest.raises(ModelError, match="dropout"):
            check_model(adapt(raw))
        assert torch.equal(torch.random.get_rng_state(), before)

    def test_a_model_that_sees_the_future_is_refused(self, tmp_path: Path) -> None:
        config = transformers.BertConfig(
            vocab_size=60, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64
        )
        transformers.BertForMaskedLM(config).save_pretrained(tmp_path)
        model = load_model(tmp_path, tokenizer=word_tokenizer())
        with pytest.raises(ModelError, match="causal"):
            check_model(model)


class TestHooks:
    @pytest.mark.both_versions
    def test_identity_is_exact_and_the_control_moves(
        self, every_model: HookedModel, clean: torch.Tensor, corrupted: torch.Tensor
    ) -> None:
        report = check_hooks(every_model, clean, corrupted)
        assert report["identity_difference"] == 0
        assert report["control_difference"] > 0.1
        assert 0 < report["floor"] < 1e-3
        assert json.loads(json.dumps(report)) == report
        residual = check_residual(every_model, clean, corrupted)
        assert residual["residual_difference"] <= residual["floor"]

    def test_in_bfloat16_too(self, model: HookedModel, clean: torch.Tensor, corrupted: torch.Tensor) -> None:
        model.model.to(torch.bfloat16)
        report = check_hooks(model, clean, corrupted)
        assert report["identity_difference"] == 0
        assert report["control_difference"] > report["floor"] > 0.1

    def test_hooks_that_do_not_act_are_noticed(
        self, model: HookedModel, clean: torch.Tensor, corrupted: torch.Tensor, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        original = model.model.run_with_hooks

        def deaf(*args: Any, fwd_hooks: Any, **options: Any) -> Any:
            # Every hook is called, its answer is thrown away.
            ignoring = [(name, lambda value, hook, f=f: (f(value.clone(), hook), value)[1]) for name, f in fwd_hooks]
            return original(*args, fwd_hooks=ignoring, **options)

        monkeypatch.setattr(model.model, "run_with_hooks", deaf)
        with pytest.raises(ModelError, match="by 0 only"):
            check_hooks(model, clean, corrupted)

    def test_a_model_that_hooks_disturb_is_noticed(
        self, model: HookedModel, clean: torch.Tensor, corrupted: torch.Tensor, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        original, capture = model.logits, model.capture
        monkeypatch.setattr(model, "logits", lambda tokens, edits: original(tokens, edits=edits) + 0.01)
        monkeypatch.setattr(model, "capture", capture)
        with pytest.raises(ModelError, match=r"themselves .* by 0\.01"):
            check_hooks(model, clean, corrupted)

    def test_logits_that_overflow_are_named(
        self, model: HookedModel, clean: torch.Tensor, corrupted: torch.Tensor
    ) -> None:
        with torch.no_grad():
            for parameter in model.model.parameters():
                parameter.mul_(1e18)
        with pytest.raises(ModelError, match=r"torch\.float32 overflows"):
            check_hooks(model, clean, corrupted)

    def test_pairs_must_differ(self, model: HookedModel, clean: torch.Tensor) -> None:
        for check in (check_hooks, check_residual):
            with pytest.raises(DataError, match=r"3; got 2"):
                check(model, clean, clean[:2].flip(1))
            with pytest.raises(DataError, match="same tokens"):
                check(model, clean, clean.clone())

    def test_prompts_may_differ_in_length(self, model: HookedModel, clean: torch.Tensor) -> None:
        report = check_hooks(model, clean, clean[:, :-2])
        assert report["identity_difference"] <= report["floor"] < report["control_difference"]
        residual = check_residual(model, clean, clean[:, :-2])
        assert residual["residual_difference"] <= residual["floor"]


def test_a_model_that_reads_its_tokens_elsewhere_is_noticed(
    model: HookedModel, clean: torch.Tensor, corrupted: torch.Tensor, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = model.model.run_with_hooks
    monkeypatch.setattr(model.model, "run_with_hooks", lambda tokens, **kw: original(tokens, **kw) + tokens.sum() / 100)
    with pytest.raises(ModelError, match="residual stream"):
        check_residual(model, clean, corrupted)


class TestUnchanged:
    def test_an_untouched_model_passes(self, model: HookedModel, clean: torch.Tensor) -> None:
        before = model.logits(clean)
        model.logits(clean, edits={1: lambda z: z.zero_()})
        assert check_clean_unchanged(model, clean, before)["clean_difference"] == 0

    @pytest.mark.parametrize("what", ["a hook left behind", "a weight"])
    def test_a_change_is_noticed(self, model: HookedModel, clean: torch.Tensor, what: str) -> None:
        before = model.logits(clean)
        if what == "a weight":
            with torch.no_grad():
                next(p for name, p in model.model.named_parameters() if "attn" in name and p.ndim == 2).mul_(1.01)
        else:
            model.model.hook_dict["blocks.1.attn.hook_z"].add_hook(lambda z, hook: z * 0.9)
        with pytest.raises(ModelError, match="during the sweep"):
            check_clean_unchanged(model, clean, before)


def test_the_floor_grows_with_the_logits_and_the_rounding() -> None:
    small, large = torch.ones(1, 4), torch.full((1, 4), 100.0)
    assert noise_floor(large, torch.float32) == pytest.approx(100 * noise_floor(small, torch.float32))
    assert noise_floor(small, torch.bfloat16) > 1000 * noise_floor(small, torch.float32)
    assert noise_floor(torch.zeros(1, 4), torch.float32) == noise_floor(small, torch.float32)
