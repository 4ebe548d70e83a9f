"""What TransformerLens cannot hold is refused before it is booted, in a sentence that says whose limit it is."""

import json
from pathlib import Path
from typing import Any

import pytest
import transformers
from conftest import TRANSFORMER_LENS_MAJOR
from for_each import for_each
from toys import D_VOCAB, word_tokenizer

from headcats.base.errors import ModelError
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
def test_an_architecture_with_images_behind_a_config_that_names_none(folder: Path, tmp_path: Path) -> None:
    text = {**SIZES, "hidden_size_per_layer_input": 0, "num_kv_shared_layers": 0, "head_dim": 8, "global_head_dim": 8}
    config = transformers.Gemma4Config(text_config=text, vision_config=None, audio_config=None)
    transformers.Gemma4ForConditionalGeneration(config).save_pretrained(tmp_path / "gemma4")
    word_tokenizer().save_pretrained(tmp_path / "gemma4")
    named = {"gemma4": "Gemma4ForConditionalGeneration", "qwen": "Qwen2_5_VLForConditionalGeneration"}
    for name, architecture in named.items():
        path = tmp_path / "gemma4" if name == "gemma4" else folder
        entries = json.loads((path / "config.json").read_text(encoding="utf-8")) | {"architectures": [architecture]}
        entries = {key: entry for key, entry in entries.items() if key not in ("vision_config", "audio_config")}
        (path / "config.json").write_text(json.dumps(entries), encoding="utf-8")
        message = refusal(path)
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


@for_each("part", ["vision_config", "audio_config"])
def test_no_advice_leads_there(part: str, folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    (folder / "config.json").write_text(json.dumps(config | {part: {}}), encoding="utf-8")
    assert "TransformerBridge" not in refusal(folder)


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
