"""Function vectors as the definition reads: prompt by prompt with plain hooks, the slow replica of the fast ones."""

from typing import Any

import torch


def mean_output(model: Any, prompts: list[torch.Tensor], layer: int, head: int) -> torch.Tensor:
    """The mean over prompts, one at a time, of what one head adds to the residual stream at the last position."""
    seen: list[torch.Tensor] = []
    for tokens in prompts:
        keep = (f"blocks.{layer}.attn.hook_z", lambda z, hook: seen.append(z[0, -1, head].clone()))
        model.run_with_hooks(tokens[None], fwd_hooks=[keep])
    return torch.stack([z @ model.blocks[layer].attn.W_O[head] for z in seen]).mean(0)


def predicted(model: Any, tokens: torch.Tensor, vector: torch.Tensor, layer: int) -> int:
    """The token after one prompt, with a vector added after a block at the last position."""

    def add(value: torch.Tensor, hook: Any) -> torch.Tensor:
        value = value.clone()
        value[0, -1] = value[0, -1] + vector
        return value

    hooks = [(f"blocks.{layer}.hook_resid_post", add)]
    return int(model.run_with_hooks(tokens[None], fwd_hooks=hooks, return_type="logits")[0, -1].argmax())
