"""Tiny models for `pytest.mark.parametrize(("layout", "backend"), TOYS)`: both layouts, and each class once."""

import pytest

TOYS = [
    pytest.param("gpt2", "bridge", marks=pytest.mark.both_versions),
    ("llama", "bridge"),
    pytest.param("llama", "hooked", marks=pytest.mark.needs_tl3("HookedTransformer")),
]
