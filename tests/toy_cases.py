"""Tiny models for `pytest.mark.parametrize(("layout", "backend"), TOYS)`, shared ones, and a check that one is kept."""

import contextlib
import functools
import gc
from collections.abc import Iterator

import pytest
import torch
from toys import Layout, Toy, tiny_model

TOYS = [
    pytest.param("gpt2", "bridge", marks=pytest.mark.both_versions),
    ("llama", "bridge"),
    pytest.param("llama", "hooked", marks=pytest.mark.needs_tl3("HookedTransformer")),
]
"""Both layouts, and each class once."""


@functools.cache
def shared_toy(layout: Layout = "gpt2", *, n_layers: int = 2) -> Toy:
    """A tiny model that nobody may change."""
    return tiny_model(layout, n_layers=n_layers)


def graphs() -> list[torch.Tensor]:
    """Tensors of this process that hold a graph."""
    gc.collect()
    return [one for one in gc.get_objects() if type(one) is torch.Tensor and one.grad_fn is not None]


@contextlib.contextmanager
def left_as_it_is(toy: Toy) -> Iterator[None]:
    """Within, gradients are off for the caller; afterwards weights, their gradients, hooks and graphs are as before."""
    weights = dict(toy.model.named_parameters())
    frozen, summed = [weight for weight in weights.values() if weight.requires_grad][:2]

    def state() -> dict[str, tuple[bool, int, int, bool]]:
        return {n: (w.requires_grad, w._version, w.data_ptr(), w.grad is None) for n, w in weights.items()}

    frozen.requires_grad_(False)
    summed.grad = torch.ones_like(summed)
    held, before = graphs(), state()
    try:
        with torch.no_grad():
            yield
            assert not torch.is_grad_enabled()
        assert state() == before
        assert bool((summed.grad == 1).all())
    finally:
        frozen.requires_grad_(True)
        summed.grad = None
    assert not any(point.fwd_hooks or point.bwd_hooks for point in toy.model.hook_dict.values())
    assert len(graphs()) == len(held)
