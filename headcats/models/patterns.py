"""What the heads of a run attend to, at the hook that both of TransformerLens' classes have."""

from collections.abc import Callable, Mapping

import torch
from jaxtyping import Float, Int
from torch import Tensor

from headcats.models.adapter import HookedModel
from headcats.models.hooks import Edit

Part = Callable[[Tensor], Tensor]
"""Gets a pattern `[prompt, head, from, to]`, returns what is to be kept of it."""


def hook_pattern(layer: int) -> str:
    """Name of the hook at the attention pattern `[prompt, head, from, to]` of a layer, after the softmax."""
    return f"blocks.{layer}.attn.hook_pattern"


def attention_patterns(
    model: HookedModel, tokens: Int[Tensor, "prompt pos"], parts: Mapping[int, Part]
) -> tuple[Float[Tensor, "prompt d_vocab"], dict[int, Tensor]]:
    """Last-position logits, and parts of the attention patterns of one run.

    Args:
        model: The model.
        tokens: Prompts of one length, without padding.
        parts: Layer -> what to keep of its pattern. Patterns grow with the square of the prompt: what is not kept is
            gone when its layer is done.

    Returns:
        Logits as of `HookedModel.run`, and layer -> the part that was kept, in float64 on the CPU. Each row of a
        pattern (what one token attends to) sums to 1.

    Raises:
        ModelError: A model that computes no attention pattern (a fused attention), or a layer without heads.
    """
    kept: dict[int, Tensor] = {}
    hooks = {hook_pattern(layer): _keeping(kept, layer, part) for layer, part in parts.items()}
    return model.run(tokens, hooks=hooks), kept


def _keeping(kept: dict[int, Tensor], layer: int, part: Part) -> Edit:
    def keep(pattern: Tensor) -> Tensor:
        # Copied, or a small part would hold the whole pattern in memory. First to the CPU: Apple's GPUs lack float64.
        kept[layer] = part(pattern.detach()).cpu().to(torch.float64, copy=True)
        return pattern

    return keep
