"""Attention patterns of a run."""

from collections.abc import Callable, Mapping, Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from headcats.models.adapter import HookedModel
from headcats.models.head import Head
from headcats.models.hooks import hook_at, keeping

Part = Callable[[Tensor], Tensor]
"""Takes a pattern `[prompt, head, from, to]` and returns the part to keep."""


def hook_pattern(layer: int) -> str:
    """Name of the hook at the attention pattern `[prompt, head, from, to]` of a layer, after the softmax."""
    return hook_at(layer, "pattern")


def attention_patterns(
    model: HookedModel, tokens: Int[Tensor, "prompt pos"], parts: Mapping[int, Part]
) -> tuple[Float[Tensor, "prompt d_vocab"], dict[int, Tensor]]:
    """Last-position logits, and layer -> a part of its attention pattern in one run, in float64 on the CPU.

    A model that computes none (a fused attention) is a ModelError.
    """
    patterns: dict[int, Tensor] = {}

    def copied(part: Part) -> Part:
        # A copy, or a small part would keep the whole pattern in memory. CPU first: Apple's GPUs lack float64.
        return lambda pattern: part(pattern).cpu().to(torch.float64, copy=True)

    hooks = {hook_pattern(layer): keeping(patterns, layer, copied(part)) for layer, part in parts.items()}
    return model.run(tokens, hooks=hooks), patterns


def head_patterns(
    model: HookedModel, tokens: Int[Tensor, "prompt pos"], heads: Sequence[Head]
) -> tuple[Float[Tensor, "prompt d_vocab"], dict[Head, Float[Tensor, "prompt from to"]]]:
    """Attention patterns of some heads, with the logits."""
    of_layer: dict[int, list[int]] = {}
    for head in heads:
        of_layer.setdefault(head.layer, []).append(head.head)
    logits, patterns = attention_patterns(model, tokens, {layer: _of_heads(of) for layer, of in of_layer.items()})
    rows = {Head(layer, head): (layer, row) for layer, of in of_layer.items() for row, head in enumerate(of)}
    return logits, {head: patterns[layer][:, row] for head, (layer, row) in rows.items()}


def _of_heads(numbers: Sequence[int]) -> Part:
    return lambda pattern: pattern[:, list(numbers)]
