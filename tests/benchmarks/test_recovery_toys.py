"""The toys of the recovery benchmark: what is planted is exactly there."""

import pytest
import xarray as xr
from recovery_parts.toy_recovery import Toy, true_effect

pytestmark = pytest.mark.slow

EFFECT = 0.2
BASES = {"denoising_patch": "corrupted", "noising_patch": "clean"}


def effects(ds: xr.Dataset) -> xr.DataArray:
    """(prompt, layer, head) or (prompt, set); the gap is 1."""
    difference = ds.patched - ds.corrupted if ds.attrs["base"] == "corrupted" else ds.clean - ds.patched
    return difference.isel(metric=0).astype("float64")


@pytest.fixture(scope="module")
def quiet() -> Toy:
    return Toy.make(effect=EFFECT, noise=0.0, prompts=6, seed=3)


@pytest.fixture(scope="module")
def swept(quiet: Toy) -> dict[str, dict[str, xr.Dataset]]:
    return {method: quiet.sweeps(method) for method in BASES}


@pytest.mark.parametrize("method", BASES)
def test_every_head_has_the_effect_it_was_given(quiet, swept, method):
    truth = true_effect(quiet.jobs, base=BASES[method])
    for task, ds in swept[method].items():
        assert abs(effects(ds) - truth.sel(task=task).values).max() <= 1e-5, task
        assert abs(ds.clean - ds.corrupted - 1).max() <= 1e-5
        assert ds.attrs["path"] == "last_position"
        assert ds.attrs["self_check"].startswith("passed")
