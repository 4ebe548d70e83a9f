"""Tiny models for `pytest.mark.parametrize(("layout", "backend"), TOYS)`, and those that tests share."""

import functools

import pytest
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
