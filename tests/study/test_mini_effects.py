"""Both model classes and both versions of transformer-lens give the same effects on the bundled model."""

import json

import numpy as np
import pytest
from study.mini_effects import PATH, effects

import headcats as hc


@pytest.mark.ci
@pytest.mark.parametrize(
    "backend",
    ["bridge", pytest.param("hooked", marks=pytest.mark.needs_tl3("HookedTransformer was removed"))],
)
def test_effects_are_those_that_the_bridge_of_4_3_gave(backend):
    stored = json.loads(PATH.read_text(encoding="utf-8"))
    found = effects(hc.load_model("mini", device="cpu", backend=backend))
    assert found.keys() == stored.keys()
    for name, values in found.items():
        assert np.abs(np.array(stored[name])).max() > 0.05  # something to compare
        np.testing.assert_allclose(values, stored[name], atol=1e-4, err_msg=name)
