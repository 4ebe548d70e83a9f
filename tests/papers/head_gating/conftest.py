"""Tiny models of both layouts."""

import pytest
from toy_cases import shared_toy
from toys import LAYOUTS, Toy, tiny_model

from headcats.models.adapter import HookedModel


@pytest.fixture(scope="module", params=LAYOUTS)
def toy(request: pytest.FixtureRequest) -> Toy:
    return tiny_model(request.param, n_layers=2)


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> HookedModel:
    """Random weights: what they learn of some texts is of no use for others, which is no concern of the tests."""
    monkeypatch.setattr("headcats.papers.head_gating.stages.check_fit", lambda *args, **options: None)
    return HookedModel(shared_toy().model, tokenizer=shared_toy().tokenizer)
