"""Attention patterns of a run, against transformers, TransformerLens' own cache and a softmax by hand."""

from typing import Any

import pytest
import torch
from toys import BACKENDS, LAYOUTS, random_tokens, tiny_model

from headcats.errors import ModelError
from headcats.models.adapter import HookedModel
from headcats.models.patterns import attention_patterns, hook_pattern


def whole(pattern: torch.Tensor) -> torch.Tensor:
    return pattern


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("backend", BACKENDS)
def test_patterns_are_those_of_transformers_and_of_the_cache(layout: Any, backend: Any) -> None:
    toy = tiny_model(layout, backend)
    model, tokens = HookedModel(toy.model), random_tokens(3, 9)
    logits, found = attention_patterns(model, tokens, dict.fromkeys(model.layers, whole))
    with torch.no_grad():
        oracle = toy.oracle(tokens, output_attentions=True)
        _, cache = toy.model.run_with_cache(tokens)
    assert (logits - oracle.logits[:, -1]).abs().max() < 1e-4
    for layer, pattern in found.items():
        assert pattern.shape == (3, 4, 9, 9)
        assert pattern.dtype == torch.float64
        assert (pattern - oracle.attentions[layer].double()).abs().max() < 1e-5
        assert (pattern - cache[hook_pattern(layer)].double()).abs().max() < 1e-6
        assert (pattern.sum(-1) - 1).abs().max() < 1e-5
        assert not pattern.triu(1).any()


def test_the_first_layer_by_hand() -> None:
    """GPT-2's first layer: softmax of query times key over what is not later."""
    toy = tiny_model("gpt2")
    tokens = random_tokens(1, 6)
    _, found = attention_patterns(HookedModel(toy.model), tokens, {0: whole})
    block = toy.oracle.transformer.h[0]
    with torch.no_grad():
        at = toy.oracle.transformer.wte(tokens) + toy.oracle.transformer.wpe(torch.arange(6))
        query, key, _ = block.attn.c_attn(block.ln_1(at)).split(32, dim=-1)
    for head in range(4):
        part = slice(8 * head, 8 * head + 8)
        for pos in range(6):
            scores = torch.stack([query[0, pos, part] @ key[0, other, part] for other in range(pos + 1)]) / 8**0.5
            by_hand = scores.exp() / scores.exp().sum()
            assert (found[0][0, head, pos, : pos + 1] - by_hand.double()).abs().max() < 1e-5


def test_only_what_is_asked_for_is_kept() -> None:
    model, tokens = HookedModel(tiny_model("llama").model), random_tokens(2, 7)
    _, every = attention_patterns(model, tokens, {1: whole})
    _, found = attention_patterns(model, tokens, {1: lambda pattern: pattern[:, [2, 0], -1]})
    assert list(found) == [1]
    assert torch.equal(found[1], every[1][:, [2, 0], -1])
    assert found[1].untyped_storage().nbytes() == found[1].numel() * 8


def test_a_layer_without_a_pattern_is_refused() -> None:
    model = HookedModel(tiny_model("gpt2").model)
    with pytest.raises(ModelError, match="hook_pattern"):
        attention_patterns(model, random_tokens(1, 4), {7: whole})
