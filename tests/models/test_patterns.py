"""Attention patterns of a run, against transformers, TransformerLens' own cache and a softmax by hand."""

import pytest
import torch
from toys import Toy, random_tokens, tiny_model

from headcats.base.errors import ModelError
from headcats.models.adapter import HookedModel
from headcats.models.patterns import attention_patterns, hook_pattern


def whole(pattern: torch.Tensor) -> torch.Tensor:
    return pattern


@pytest.mark.both_versions
def test_patterns_are_those_of_transformers_and_of_the_cache(any_toy: Toy) -> None:
    toy = any_toy
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
