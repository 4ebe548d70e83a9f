from pathlib import Path

import pytest
import torch
import transformers
from toys import random_tokens, word_tokenizer

from headcats.base.errors import ModelError
from headcats.models.checks import check_model
from headcats.models.loading import load_model


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
