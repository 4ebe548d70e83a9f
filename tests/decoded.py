"""Decoding step by step on plain transformers: what goes into every attention output projection."""

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
def at_projections(oracle: Any, hook: Callable[[int, Tensor], None]) -> Iterator[None]:
    """Call `hook(layer, z)` in every forward pass."""

    def of_layer(layer: int) -> Callable[..., Any]:
        def before(module: Any, args: tuple[Tensor, ...]) -> None:
            hook(layer, args[0])

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
