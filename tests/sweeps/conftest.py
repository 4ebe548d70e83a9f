"""Tiny models of both layouts and classes."""

import pytest
from toys import Toy, tiny_model


@pytest.fixture(scope="session")
def toy() -> Toy:
    """Rotary, with grouped keys and values."""
    return tiny_model("llama", n_layers=2)


@pytest.fixture(
    scope="session",
    params=[
        pytest.param(("gpt2", "bridge"), id="gpt2", marks=pytest.mark.both_versions),
        pytest.param(("llama", "bridge"), id="llama", marks=pytest.mark.both_versions),
        pytest.param(("llama", "hooked"), id="hooked", marks=pytest.mark.needs_tl3("HookedTransformer")),
    ],
)
def each_toy(request: pytest.FixtureRequest) -> Toy:
    """Both layouts, and the other class of TransformerLens."""
    layout, backend = request.param
    return tiny_model(layout, backend, n_layers=2)
