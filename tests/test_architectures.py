"""The toys of `architectures`: each bridge is its plain transformers twin, and has what it is there for."""

from typing import Any

import numpy as np
import pytest
import torch
from architectures import ARCHITECTURES, LATENT, N_HEADS, bridge_of, hf_architecture, plain_logits, plain_z, tiny_bridge
from batches import random_batch
from toys import random_tokens

import headcats as hc
from headcats.base.errors import ModelError
from headcats.models.adapter import HookedModel
from headcats.models.checks import check_model

TOKENS = random_tokens(2, 10)
RIGHT = [
    pytest.param(name, marks=pytest.mark.needs_tl4("the bridge of 3.x gives other logits for Cohere"))
    if name == "cohere"
    else name
    for name in ARCHITECTURES
]


@pytest.mark.both_versions
@pytest.mark.parametrize("name", RIGHT)
@pytest.mark.usefixtures("no_programs")
def test_the_bridge_is_its_twin_and_has_its_heads(name: str) -> None:
    model, twin = HookedModel(bridge_of(hf_architecture(name))), hf_architecture(name)
    theirs = plain_logits(twin, TOKENS)
    assert theirs.std() > 0.2
    assert (model.logits(TOKENS).log_softmax(-1) - theirs.log_softmax(-1)).abs().max() < 1e-4
    assert set(model.n_heads.values()) == {N_HEADS}
    expected = plain_z(twin, TOKENS)
    assert tuple(expected) == model.layers
    for layer, z in model.capture(TOKENS)[1].items():
        assert (z - expected[layer]).abs().max() < 1e-4

    def edit(z: torch.Tensor) -> torch.Tensor:
        z[:, -1, 2] = 0.5
        return z

    first = model.layers[0]
    edited = plain_logits(twin, TOKENS, edits={first: edit})
    assert (model.logits(TOKENS, edits={first: edit}) - edited).abs().max() < 1e-4
    assert (edited - theirs).abs().max() > 1e-2


@pytest.mark.both_versions
@pytest.mark.parametrize("name", LATENT)
@pytest.mark.filterwarnings("ignore:.*ordinary hooked forwards")
def test_heads_of_latent_attention_are_those_of_the_model(name: str) -> None:
    bridge, twin, batch = tiny_bridge(name), hf_architecture(name), random_batch(2, 8)
    rows = torch.arange(2)

    def logit_diff(edits: Any) -> np.ndarray:
        logits = plain_logits(twin, batch.clean, edits=edits)
        return (logits[rows, batch.answer] - logits[rows, batch.distractor]).numpy()

    swept = hc.sweep(bridge, batch, "zero_ablation", metrics=["logit_diff"], positions="all")
    assert dict(swept.sizes)["head"] == N_HEADS
    for layer in range(3):
        for head in range(N_HEADS):

            def edit(z: torch.Tensor, head: int = head) -> torch.Tensor:
                z[:, :, head] = 0
                return z

            expected = logit_diff({layer: edit})
            np.testing.assert_allclose(swept.patched.sel(layer=layer, head=head)[0], expected, atol=2e-5)
            assert np.abs(expected - logit_diff({})).max() > 1e-3
    model = HookedModel(bridge)
    written = torch.einsum("bphd,hdm->bpm", plain_z(twin, batch.clean)[0], model.W_O(0))
    projection = twin.model.layers[0].self_attn.o_proj
    assert torch.allclose(written, plain_z(twin, batch.clean)[0].flatten(2) @ projection.weight.T, atol=1e-5)
    described = hc.describe_heads(bridge, prompts=batch)
    assert dict(described.sizes)["head"] == N_HEADS
    assert not np.isnan(described["induction"]).any()
    for weights in ("copying", "direct_logit"):
        assert np.isnan(described[weights]).all()
        assert "W_V" in described[weights].attrs["missing"]


@pytest.mark.both_versions
def test_layers_may_have_other_numbers_of_heads() -> None:
    model, twin = HookedModel(tiny_bridge("laguna")), hf_architecture("laguna")
    assert dict(model.n_heads) == {0: 4, 1: 2, 2: 4}
    check_model(model)
    z = model.capture(TOKENS)[1]
    for layer, expected in plain_z(twin, TOKENS).items():  # which takes all of them to have four
        assert torch.allclose(z[layer].flatten(2), expected.flatten(2), atol=1e-5)


class TestRefused:
    def test_a_layer_with_fewer_heads_than_the_configuration_says(self) -> None:
        hf = hf_architecture("llama")
        for name, parameter in hf.model.layers[1].self_attn.named_parameters():
            parts = parameter.chunk(2, dim=int(name.startswith("o_proj")))
            parameter.data = parts[0].clone()
        hf.model.layers[1].self_attn.o_proj.in_features //= 2
        with pytest.raises(ModelError, match=r"blocks\.1\.attn\.hook_z.* 2 heads.* 4"):
            check_model(HookedModel(bridge_of(hf)))

    def test_a_hook_that_shows_other_heads_than_are_written(self, monkeypatch: pytest.MonkeyPatch) -> None:
        model = HookedModel(bridge_of(hf_architecture("llama")))
        check_model(model)
        conversion = model.model.blocks[1].attn.o.hook_in.hook_conversion
        monkeypatch.setattr(conversion, "revert", lambda z, *_: z.transpose(2, 3).reshape(*z.shape[:2], -1))
        with pytest.raises(ModelError, match="head 2 of layer 1"):
            check_model(model)

    def test_a_layer_that_runs_twice(self) -> None:
        hf = hf_architecture("gpt2")
        hf.transformer.h[2] = hf.transformer.h[0]
        with pytest.raises(ModelError, match="Layers 0 and 2"):
            HookedModel(bridge_of(hf))
        model = HookedModel(bridge_of(hf_architecture("gpt2")))
        projection = model.model.blocks[1].attn.o
        projection.register_forward_hook(lambda module, args, output: (module.hook_in(args[0]), output)[1])
        with pytest.raises(ModelError, match=r"blocks\.1\.attn\.hook_z.* 2 times"):
            check_model(model)
