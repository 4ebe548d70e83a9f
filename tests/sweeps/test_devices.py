"""Sweeps on every kind of device: the numbers of the CPU's hooked path. The CPU itself is one, so this always runs."""

from typing import Any

import numpy as np
import pytest
import torch
from batches import random_batch
from covering import each_value
from prefixes import prefixed_batch
from toys import BACKENDS, LAYOUTS, Layout, tiny_model

from headcats.methods import attribution_patch
from headcats.models.adapter import HookedModel, adapt
from headcats.sweeps.batch_sweep import sweep
from headcats.sweeps.free_memory import budget, free_memory
from headcats.sweeps.joint import cumulative, joint_sweep

METRICS = ["logit_diff", "log_prob", "kl"]
# Other kernels sum in another order; a GPU may also multiply fp32 numbers in its own way.
TOLERANCE = {"cpu": 1e-5, "cuda": 1e-4, "mps": 1e-4}


HERE = ["cpu"]
HERE += ["cuda"] * torch.cuda.is_available() + ["mps"] * torch.backends.mps.is_available()


@pytest.fixture(params=HERE)
def device(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def on_both(layout: Layout, backend: Any, device: str) -> tuple[HookedModel, HookedModel]:
    """The same model on a device and on the CPU."""
    here, there = (tiny_model(layout, backend, n_layers=3).model for _ in range(2))
    return adapt(here.to(device)), adapt(there)


ROWS = each_value(["suffix", "last_position", "hooked"], LAYOUTS, ["denoising_patch", "mean_ablation"])


@pytest.mark.parametrize(("path", "layout", "method"), ROWS if len(HERE) > 1 else ROWS[:1])
def test_sweeps(layout: Any, path: str, method: str, device: str) -> None:
    here, there = on_both(layout, "bridge", device)
    batch = prefixed_batch(3, 12, 5)
    options: dict[str, Any] = {"metrics": METRICS, "positions": "last" if path == "last_position" else "all"}
    if method == "mean_ablation":
        options["reference"] = random_batch(4, 12, seed=50)
    found = sweep(here, batch, method, path=path, **options)
    expected = sweep(there, batch, method, path="hooked", **options)
    assert found.attrs["path"] == path
    assert here.device.type == device
    for name in ("clean", "corrupted", "patched"):
        assert np.abs(found[name] - expected[name]).max() <= TOLERANCE[device]
    assert np.abs(expected.patched - expected[expected.attrs["base"]]).max() > 0.01


@pytest.mark.parametrize("backend", BACKENDS)
def test_sets_of_heads_and_gradients(backend: Any, device: str) -> None:
    here, there = on_both("llama", backend, device)
    batch, sets = prefixed_batch(3, 12, 5), cumulative(["L0H1", "L1H0", "L2H1"])
    pairs = [(joint_sweep(here, batch, "denoising_patch", sets, metrics=METRICS),
              joint_sweep(there, batch, "denoising_patch", sets, metrics=METRICS, path="hooked"))]  # fmt: skip
    assert pairs[0][0].attrs["path"] == "last_position"
    for steps in (0, 2):
        options: dict[str, Any] = {"metrics": ["logit_diff"], "ig_steps": steps}
        pairs.append(tuple(attribution_patch(model, batch, **options) for model in (here, there)))
    for found, expected in pairs:
        assert np.abs(found.patched - expected.patched).max() <= TOLERANCE[device]


def test_sixteen_bits(device: str) -> None:
    here, there = on_both("llama", "bridge", device)
    batch = prefixed_batch(3, 12, 5)
    found = sweep(adapt(here.model.to(torch.bfloat16)), batch, "denoising_patch", metrics=METRICS, positions="last")
    expected = sweep(there, batch, "denoising_patch", metrics=METRICS, positions="last")
    assert np.abs(found.patched - expected.patched).max() <= 0.5
    assert float(found.noise.max()) > 0


def test_free_memory_is_a_limit(device: str) -> None:
    assert budget(None, torch.device(device)) == pytest.approx(free_memory(torch.device(device)) // 2, rel=0.2)
    assert budget(None, torch.device(device)) > 0
