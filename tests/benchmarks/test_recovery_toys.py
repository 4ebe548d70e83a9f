"""The toys of the recovery benchmark: what is planted is exactly there, and the whole tool is run on it."""

import pytest
import xarray as xr
from recovery_parts.toy_heads import true_effect
from recovery_parts.toy_pairs import PAIRS, pair_of
from recovery_parts.toy_recovery import Toy

import headcats as hc

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


def test_one_method_sees_an_or_pair_and_the_other_an_and_pair(quiet, swept):
    alone: dict[tuple[str, str], list[float]] = {}
    together: dict[tuple[str, str], float] = {}
    for method in BASES:
        for kind in PAIRS:
            heads = pair_of(quiet.jobs, kind)
            task = quiet.jobs[heads[0]].tasks[0]
            found = effects(swept[method][task]).mean("prompt")
            alone[method, kind] = [float(found[head.layer, head.head]) for head in heads]
            joint = hc.evidence.joint_sweep(quiet.model, quiet.batch(task), method, [heads])
            together[method, kind] = float(effects(joint).mean())
    unseen = {("denoising_patch", "and"), ("noising_patch", "or")}
    for case, found_alone in alone.items():
        assert found_alone == pytest.approx([0, 0] if case in unseen else [EFFECT, EFFECT], abs=1e-5), case
        assert together[case] == pytest.approx(2 * EFFECT if case[1] == "helping" else EFFECT, abs=1e-5), case
