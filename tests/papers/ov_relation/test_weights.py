"""Weights as trained, or refused; and the first MLP as the plain model has it."""

import architectures
import pytest
import torch
from toys import LAYOUTS, tiny_model

from headcats.base.errors import ModelError
from headcats.models.adapter import adapt
from headcats.papers.ov_relation.weights import NO_MLP, NO_NORM, WITH_RESIDUAL, after_first_mlp, unprocessed_circuit

WITHOUT_FIRST_MLP = {"opt": NO_MLP, "olmo2": NO_NORM, "bloom": WITH_RESIDUAL, "mpt": WITH_RESIDUAL}


@pytest.mark.both_versions
@pytest.mark.parametrize("layout", LAYOUTS)
def test_processed_weights_are_refused(layout: str) -> None:
    model = tiny_model(layout).model
    assert unprocessed_circuit(adapt(model)).d_vocab
    model.enable_compatibility_mode(disable_warnings=True)
    with pytest.raises(ModelError, match=r"no_processing.*compatibility_mode"):
        unprocessed_circuit(adapt(model))


@pytest.mark.parametrize("layout", LAYOUTS)
@torch.no_grad()
def test_the_first_mlp_is_given_without_the_residual_stream_many_rows_in_parts(
    layout: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    toy, rows = tiny_model(layout), torch.randn(7, 32)
    block = (toy.oracle.transformer.h if layout == "gpt2" else toy.oracle.model.layers)[0]
    norm = block.ln_2 if layout == "gpt2" else block.post_attention_layernorm
    whole = after_first_mlp(adapt(toy.model), rows)
    torch.testing.assert_close(whole, block.mlp(norm(rows)), rtol=1e-5, atol=1e-5)
    monkeypatch.setattr("headcats.papers.ov_relation.weights._MLP_ROWS", 3)
    torch.testing.assert_close(after_first_mlp(adapt(toy.model), rows), whole, rtol=1e-6, atol=1e-6)


@pytest.mark.needs_tl3("HookedTransformer")
def test_a_hooked_transformer_has_the_first_mlp_of_a_bridge() -> None:
    rows = torch.randn(2, 32)
    first, second = (after_first_mlp(adapt(tiny_model("llama", name).model), rows) for name in ("bridge", "hooked"))
    torch.testing.assert_close(first, second, rtol=1e-5, atol=1e-5)


def test_rows_keep_their_precision() -> None:
    model = adapt(tiny_model("gpt2").model.to(torch.bfloat16))
    assert after_first_mlp(model, torch.randn(2, 32)).dtype == torch.float32


def test_architectures_without_an_mlp_of_their_own_are_refused() -> None:
    for name in architectures.ARCHITECTURES:
        if name in architectures.LATENT:
            continue
        model, rows = adapt(architectures.tiny_bridge(name)), torch.randn(3, 32)
        if name in WITHOUT_FIRST_MLP:
            with pytest.raises(ModelError, match="first_mlp='off'") as refused:
                after_first_mlp(model, rows)
            assert WITHOUT_FIRST_MLP[name] in str(refused.value)
        else:
            assert after_first_mlp(model, rows).shape == rows.shape


@torch.no_grad()
def test_parallel_blocks_share_the_first_norm() -> None:
    rows = torch.randn(3, 32)
    block = architectures.hf_architecture("gptj").transformer.h[0]
    found = after_first_mlp(adapt(architectures.tiny_bridge("gptj")), rows)
    torch.testing.assert_close(found, block.mlp(block.ln_1(rows)), rtol=1e-5, atol=1e-5)
