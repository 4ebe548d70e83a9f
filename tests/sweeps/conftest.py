"""Tiny models of both layouts and classes."""

from typing import Any

import pytest
from toys import BACKENDS, LAYOUTS, Toy, tiny_model


@pytest.fixture(scope="module", params=LAYOUTS)
def layout(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture(scope="module", params=BACKENDS)
def toy(request: pytest.FixtureRequest, layout: Any) -> Toy:
    return tiny_model(layout, request.param, n_layers=2)
