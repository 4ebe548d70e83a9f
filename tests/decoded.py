"""Decoding step by step on plain transformers: what goes into every attention output projection, and changes of it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from architectures import output_projections
from torch import Tensor


@contextmanager
def double(*models: Any) -> Iterator[None]:
    """Models in float64, so that what differs between two ways of computing is not rounding."""
    for model in models:
        model.double()
    try:
        yield
    finally:
        for model in models:
            model.float()


@contextmanager
def at_projections(oracle: Any, hook: Callable[[int, Tensor], Tensor | None]) -> Iterator[None]:
    """Call `hook(layer, z)` in every forward pass; what it returns takes the place of z."""

    def of_layer(layer: int) -> Callable[..., Any]:
        def before(module: Any, args: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
            changed = hook(layer, args[0])
            return args if changed is None else (changed, *args[1:])

        return before

    handles = [
        module.register_forward_pre_hook(of_layer(layer)) for layer, module in output_projections(oracle).items()
    ]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


@torch.no_grad()
def last_z_of_each_step(oracle: Any, ids: list[int], *, n_prompt: int) -> list[list[Tensor]]:
    """Step -> layer -> z at the last position, for the prompt alone, then with one more token at each step; no cache.

    The first step predicts the first token after the prompt; in the second that token has become the last position.
    """
    steps: list[list[Tensor]] = []
    for length in range(n_prompt, len(ids) + 1):
        kept: list[Tensor] = []
        with at_projections(oracle, lambda layer, z, kept=kept: kept.append(z[0, -1].clone())):  # type: ignore[misc]
            oracle(torch.tensor([ids[:length]]))
        steps.append(kept)
    return steps


@torch.no_grad()
def stepwise_log_probs(
    oracle: Any, ids: list[int], *, n_prompt: int, factors: dict[int, Tensor], from_step: int
) -> list[float]:
    """Log-probability of every token after the prompt, with a cache; from a step on, z of the last position is scaled.

    Args:
        oracle: A model of transformers.
        ids: Prompt and answer.
        n_prompt: Tokens of the prompt.
        factors: Layer -> what z of all heads side by side is multiplied by.
        from_step: 0 scales the pass over the prompt, too; 1 leaves it out, as the hook of pyvene 0.1.7 does.
    """
    found, cache = [], None
    for step, length in enumerate(range(n_prompt, len(ids))):

        def scaled(layer: int, z: Tensor, step: int = step) -> Tensor | None:
            if step < from_step or layer not in factors:
                return None
            z = z.clone()
            z[0, -1] *= factors[layer].to(z)
            return z

        new = ids[:length] if cache is None else ids[length - 1 : length]
        with at_projections(oracle, scaled):
            output = oracle(torch.tensor([new]), past_key_values=cache, use_cache=True)
        cache = output.past_key_values
        found.append(float(output.logits[0, -1].log_softmax(0)[ids[length]]))
    return found
