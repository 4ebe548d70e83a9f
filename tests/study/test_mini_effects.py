"""Both model classes and both versions of transformer-lens give the same effects on the bundled model."""

import json

import numpy as np
import pytest
from study.mini_effects import PATH, effects

import headcats as hc


def check(found):
    """They are those that the bridge of transformer-lens 4.3 gave."""
    stored = json.loads(PATH.read_text(encoding="utf-8"))
    assert found
    for name, values in found.items():
        assert np.abs(np.array(stored[name])).max() > 0.05  # something to compare
        np.testing.assert_allclose(values, stored[name], atol=1e-4, err_msg=name)
    return found.keys() == stored.keys()


@pytest.mark.both_versions
def test_effects_of_one_task_and_method_are_those_that_there_were(mini):
    assert not check(effects(mini, tasks=("country_capital",), methods=("denoising_patch",)))


@pytest.mark.slow
@pytest.mark.parametrize(
    "backend",
    ["bridge", pytest.param("hooked", marks=pytest.mark.needs_tl3("HookedTransformer was removed"))],
)
def test_effects_of_all_tasks_are_those_that_there_were(backend):
    assert check(effects(hc.load_model("mini", device="cpu", backend=backend)))
