"""What TransformerLens makes of a model has its numbers, and what it cannot hold is refused in a sentence."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from conftest import TRANSFORMER_LENS_MAJOR
from for_each import for_each
from toys import D_VOCAB, LAYOUTS, random_tokens, tiny_model, word_tokenizer

from headcats.base.errors import ModelError
from headcats.models.checks import check_model
from headcats.models.conversion import check_reproduces, take_reference
from headcats.models.loading import load_model

SIZES: dict[str, Any] = {
    "vocab_size": D_VOCAB, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 4, "max_position_embeddings": 64, "bos_token_id": 0, "eos_token_id": 0, "pad_token_id": 2,
}  # fmt: skip
LAYERS = {"vocab_size": D_VOCAB, "n_embd": 32, "n_layer": 2, "n_head": 4, "bos_token_id": 0, "eos_token_id": 0}
WITHOUT_BRIDGE = ("Phimoe", "DiffLlama", "Ministral", "Helium", "Persimmon", "BioGpt")


def saved(folder: Path, stem: str, **options: Any) -> Path:
    """A random model of transformers and a tokenizer."""
    sizes = LAYERS if stem.startswith("GPT2") or stem == "GPTBigCode" else SIZES
    config = getattr(transformers, f"{stem}Config")(**{**sizes, **options})
    getattr(transformers, {"GPT2": "GPT2LMHeadModel"}.get(stem, f"{stem}ForCausalLM"))(config).save_pretrained(folder)
    word_tokenizer().save_pretrained(folder)
    return folder


def refusal(folder: Path, backend: str = "bridge") -> str:
    with pytest.raises(ModelError) as refused:
        load_model(folder, backend=backend)
    message = str(refused.value)
    assert "\n" not in message
    assert not any(word in message for word in ("Error", "Traceback", "Available architectures"))
    assert len(message) < 500
    return message


@pytest.mark.both_versions
@pytest.mark.usefixtures("no_programs")
def test_an_architecture_with_images_behind_a_config_that_names_none(folder: Path) -> None:
    architecture = "Qwen2_5_VLForConditionalGeneration"
    entries = json.loads((folder / "config.json").read_text(encoding="utf-8")) | {"architectures": [architecture]}
    (folder / "config.json").write_text(json.dumps(entries), encoding="utf-8")
    message = refusal(folder)
    assert architecture in message
    assert "pip" in message


def test_a_bridge_for_which_a_package_lacks(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def lacks(config: Any) -> None:
        raise ImportError("this needs mamba_ssm")

    factory = "transformer_lens.factories.architecture_adapter_factory.ArchitectureAdapterFactory"
    monkeypatch.setattr(f"{factory}.select_architecture_adapter", lacks)
    message = refusal(folder)
    assert "mamba_ssm" in message
    assert "images" not in message


@pytest.mark.both_versions
@for_each("stem", WITHOUT_BRIDGE)
def test_an_architecture_without_a_bridge(stem: str, tmp_path: Path) -> None:
    message = refusal(saved(tmp_path, stem, head_dim=8))
    assert f"{stem}ForCausalLM. This is its limit" in message
    assert "backend" not in message


@pytest.mark.both_versions
@for_each(
    "stem,options",
    [
        ("Falcon", {"new_decoder_architecture": True, "num_kv_heads": 2, "alibi": False}),
        ("GPTBigCode", {"multi_query": False}),
    ],
)
def test_a_configuration_that_a_bridge_does_not_hold(stem: str, options: dict[str, Any], tmp_path: Path) -> None:
    message = refusal(saved(tmp_path, stem, **options))
    assert f"{stem}ForCausalLM" in message
    assert "limit" in message
    assert "backend='hooked'" in message


@pytest.mark.both_versions
def test_a_bridge_that_is_wrong_where_the_other_class_is_right(tmp_path: Path) -> None:
    folder = saved(tmp_path, "GPT2", scale_attn_weights=False, initializer_range=0.4)
    assert "backend='hooked'" in refusal(folder)
    if TRANSFORMER_LENS_MAJOR == 3:
        assert load_model(folder, backend="hooked").max_heads == 4


@pytest.mark.needs_tl3("HookedTransformer")
def test_a_class_that_has_no_converter(tmp_path: Path) -> None:
    assert "backend" not in refusal(saved(tmp_path, "Persimmon"), "hooked")


@pytest.mark.both_versions
def test_a_model_that_transformers_itself_cannot_run(tmp_path: Path) -> None:
    message = refusal(saved(tmp_path, "Helium", head_dim=16))
    assert message.startswith("transformers cannot run")


@pytest.mark.both_versions
@for_each(
    "stem,options",
    [
        ("GPTNeoX", {"use_parallel_residual": False}),
        ("GPT2", {"scale_attn_by_inverse_layer_idx": True, "reorder_and_upcast_attn": True}),
    ],
)
def test_what_a_bridge_holds_rightly(stem: str, options: dict[str, Any], tmp_path: Path) -> None:
    assert load_model(saved(tmp_path, stem, initializer_range=0.4, **options)).max_heads == 4


@pytest.mark.needs_tl4("HookedTransformer was removed in 4.0")
def test_hooked_backend_says_what_to_do(folders: dict[str, Path]) -> None:
    with pytest.raises(ModelError, match=r"3\.x.*backend='bridge'"):
        load_model(folders["gpt2"], backend="hooked")


@pytest.mark.needs_tl3("HookedTransformer")
def test_a_wrong_conversion_is_refused(folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    from transformer_lens import loading_from_pretrained

    original = loading_from_pretrained.convert_hf_model_config
    monkeypatch.setattr(
        loading_from_pretrained, "convert_hf_model_config", lambda path: {**original(path), "rotary_base": 500}
    )
    with pytest.raises(ModelError, match=r"differs .* backend='bridge'"):
        load_model(folders["llama"], backend="hooked")


@pytest.mark.needs_tl3("HookedTransformer")
def test_options_of_a_hooked_transformer(folders: dict[str, Path]) -> None:
    model = load_model(folders["gpt2"], dtype="bfloat16", backend="hooked", n_devices=1)
    assert (model.dtype, model.placement, model.model_class) == (torch.bfloat16, "cpu", "HookedTransformer")


@pytest.mark.needs_tl3("HookedTransformer")
def test_weights_that_no_converter_fills_are_zero(tmp_path: Path) -> None:
    # Positions under ALiBi: uninitialised memory otherwise, NaN at times and another hash in every run.
    config = transformers.BloomConfig(vocab_size=60, hidden_size=32, n_layer=2, n_head=4, bos_token_id=0)
    transformers.BloomForCausalLM(config).save_pretrained(tmp_path)
    word_tokenizer().save_pretrained(tmp_path)
    model = load_model(tmp_path, backend="hooked")
    assert not model.model.pos_embed.W_pos.any()
    check_model(model)


@pytest.mark.needs_tl3("HookedTransformer")
def test_the_context_is_the_models_own(tmp_path: Path) -> None:
    # The converter has 2048 for every Mistral.
    config = transformers.MistralConfig(
        vocab_size=60, hidden_size=32, intermediate_size=64, num_hidden_layers=1, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=24, sliding_window=4, bos_token_id=0, eos_token_id=0,
    )  # fmt: skip
    transformers.MistralForCausalLM(config).save_pretrained(tmp_path)
    word_tokenizer().save_pretrained(tmp_path)
    assert load_model(tmp_path, backend="hooked").n_ctx == load_model(tmp_path).n_ctx == 24


@pytest.mark.needs_tl3("HookedTransformer")
def test_an_architecture_without_converter(tmp_path: Path) -> None:
    config = transformers.FalconConfig(
        vocab_size=60, hidden_size=32, num_hidden_layers=1, num_attention_heads=4, bos_token_id=0, eos_token_id=0
    )
    transformers.FalconForCausalLM(config).save_pretrained(tmp_path)
    word_tokenizer().save_pretrained(tmp_path)
    with pytest.raises(ModelError, match=r"FalconForCausalLM .*'bridge'"):
        load_model(tmp_path, backend="hooked")
    assert load_model(tmp_path).logits(random_tokens()).shape == (3, 60)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_same_weights_pass_and_slightly_other_ones_do_not(layout: Any) -> None:
    toy = tiny_model(layout)
    check_reproduces(toy.model, take_reference(toy.oracle))
    with torch.no_grad():
        next(p for name, p in toy.model.named_parameters() if "mlp" in name and p.ndim == 2).mul_(1.05)
    built = type(toy.model).__name__
    with pytest.raises(ModelError, match=rf"{built} .*{type(toy.oracle).__name__} .* by 0\.\d+ in"):
        check_reproduces(toy.model, take_reference(toy.oracle))


def test_a_conversion_that_makes_nan_does_not_pass() -> None:
    toy = tiny_model("llama")
    with torch.no_grad():
        next(p for name, p in toy.model.named_parameters() if "mlp" in name)[0] = float("nan")
    with pytest.raises(ModelError, match="by nan"):
        check_reproduces(toy.model, take_reference(toy.oracle))
