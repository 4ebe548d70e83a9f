"""16-bit models: their noise is measured, effects below it are marked, and fp32 results have neither."""

import json

import numpy as np
import pytest
import torch
import xarray as xr
from batches import random_batch
from toys import Toy, tiny_model

from headcats.models.adapter import adapt
from headcats.results.block_schema import join_batches, mark_noise
from headcats.sweeps.batch_sweep import sweep
from headcats.sweeps.engine import measured_noise
from headcats.sweeps.intervention import Intervention
from headcats.sweeps.paths import Choice
from headcats.sweeps.runs import BaseRuns

METRICS = ["logit_diff", "log_prob"]


@pytest.fixture(scope="module")
def short() -> Toy:
    toy = tiny_model("gpt2", n_layers=2)
    return toy._replace(model=toy.model.to(torch.bfloat16))


def test_fp32_has_none(toy: Toy) -> None:
    ds = sweep(toy.model, random_batch(), "denoising_patch")
    assert set(ds.data_vars) == {"patched", "clean", "corrupted"}
    runs = BaseRuns(adapt(toy.model), random_batch())
    assert measured_noise(runs, "clean", ("logit_diff",), first=0, choice=Choice("hooked", "")) is None


@pytest.mark.parametrize("positions", ["last", "all"])
def test_16_bit_results_say_how_noisy_they_are(short: Toy, positions: str) -> None:
    batch = random_batch(6)
    ds = sweep(short.model, batch, "denoising_patch", metrics=METRICS, positions=positions)
    exact = sweep(tiny_model("gpt2", n_layers=2).model, batch, "denoising_patch", metrics=METRICS, positions=positions)
    assert ds.attrs["path"] in ("last_position", "suffix")
    assert ds.noise.dims == ("metric",)
    assert ds.below_noise.dims == ("metric", "layer", "head")
    error = np.sqrt(((ds.patched - ds.corrupted) - (exact.patched - exact.corrupted)).values ** 2).mean()
    # The noise is of the size of the real error, which fp32 shows.
    assert 0.1 * error < float(ds.noise.mean()) < 10 * error
    assert float(ds.noise.max()) < float(abs(exact.patched - exact.corrupted).mean())


@pytest.mark.parametrize(
    ("method", "positions", "path"), [("denoising_patch", "last", "last_position"), ("zero_ablation", "all", "suffix")]
)
def test_16_bit_results_are_those_of_the_hooked_path(short: Toy, method: str, positions: str, path: str) -> None:
    """Up to their noise, far below what the heads do."""
    batch = random_batch(6)
    fast = sweep(short.model, batch, method, metrics=METRICS, positions=positions)
    hooked = sweep(short.model, batch, method, metrics=METRICS, positions=positions, path="hooked")
    assert (fast.attrs["path"], hooked.attrs["path"]) == (path, "hooked")
    apart = ((fast.patched - hooked.patched) ** 2).mean(("prompt", "layer", "head")) ** 0.5
    assert bool((apart < 3 * hooked.noise).all())
    effect = abs(hooked.patched - hooked.clean).mean(("prompt", "layer", "head"))
    assert bool((apart < 0.1 * effect).all())


def test_heads_that_do_nothing_lie_below_it(short: Toy) -> None:
    own = Intervention("identity", "corrupted", lambda sources: sources.corrupted)
    assert bool(sweep(short.model, random_batch(), own, metrics=METRICS).below_noise.all())
    assert not bool(sweep(short.model, random_batch(), "zero_ablation", metrics=METRICS).below_noise.all())


def block(patched: list[float], noise: float, *, path: str = "suffix") -> xr.Dataset:
    values = np.array(patched)[None, :, None, None]
    sides = {name: (("metric", "prompt"), np.zeros((1, len(patched)))) for name in ("clean", "corrupted")}
    ds = xr.Dataset(
        {"patched": (("metric", "prompt", "layer", "head"), values), **sides},
        coords={"metric": ["logit_diff"]},
        attrs={"base": "corrupted", "dropped": 1, "path": path, "provenance": json.dumps({"path": path})},
    )
    return mark_noise(ds, torch.tensor([noise]))


def test_marks_compare_the_mean_change_with_twice_the_noise_of_a_prompt() -> None:
    assert bool(block([1.0, -0.7], 0.1).below_noise.all())
    assert not bool(block([1.0, -0.5], 0.1).below_noise.any())


def test_batches_of_a_task_are_marked_together() -> None:
    joined = join_batches([block([1.0, 1.0], 0.3), block([-1.0, -0.8, -0.2], 0.4, path="hooked")])
    assert joined.attrs["path"] == json.loads(joined.attrs["provenance"])["path"] == "suffix; hooked"
    assert joined.attrs["dropped"] == 2
    np.testing.assert_allclose(joined.noise, [np.sqrt((2 * 0.09 + 3 * 0.16) / 5)])
    assert bool(joined.below_noise.all())
