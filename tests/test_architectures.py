"""The toys of `architectures`: each bridge is its plain transformers twin, and has what it is there for."""

import pytest
import torch
from architectures import ARCHITECTURES, N_HEADS, hf_architecture, plain_logits, plain_z, tiny_bridge
from toys import random_tokens

from headcats.models.adapter import HookedModel

TOKENS = random_tokens(2, 10)
RIGHT = [
    pytest.param(name, marks=pytest.mark.needs_tl4("the bridge of 3.x gives other logits for Cohere"))
    if name == "cohere"
    else name
    for name in ARCHITECTURES
]


@pytest.mark.both_versions
@pytest.mark.parametrize("name", RIGHT)
def test_the_bridge_is_its_twin_and_has_its_heads(name: str) -> None:
    model, twin = HookedModel(tiny_bridge(name)), hf_architecture(name)
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


def test_what_makes_an_architecture_hard_is_in_use() -> None:
    for name, options in [
        ("mistral", {"sliding_window": None}),
        ("gemma2", {"layer_types": ["full_attention"] * 3}),
        ("gemma2", {"attn_logit_softcapping": None}),
        ("gemma2", {"final_logit_softcapping": None}),
        ("gemma3", {"layer_types": ["full_attention"] * 3}),
        ("gpt_oss", {"layer_types": ["full_attention"] * 3}),
        ("granite", {"residual_multiplier": 1.0}),
        ("granite", {"logits_scaling": 1.0}),
        ("cohere", {"logit_scale": 1.0}),
        ("falcon", {"alibi": True}),
    ]:
        with_it, without = (plain_logits(hf_architecture(name, **more), TOKENS) for more in ({}, options))
        assert (with_it - without).abs().max() > 0.02, (name, options)
