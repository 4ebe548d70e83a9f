"""Sweeps on every kind of device: the numbers of the CPU's hooked path. The CPU itself is one, so this always runs."""

from typing import Any

import numpy as np
import pytest
import torch
from batches import random_batch
from covering import each_value
from prefixes import prefixed_batch
from toys import LAYOUTS, Layout, tiny_model

import headcats as hc
from headcats.models.adapter import HookedModel, adapt
from headcats.sweeps.batch_sweep import sweep
from headcats.sweeps.joint import joint_sweep

METRICS = ["logit_diff", "log_prob", "kl"]
# Other kernels sum in another order; a GPU may also multiply fp32 numbers in its own way.
TOLERANCE = {"cpu": 1e-5, "cuda": 1e-4, "mps": 1e-4}

HERE = ["cpu"]
HERE += ["cuda"] * torch.cuda.is_available() + ["mps"] * torch.backends.mps.is_available()
# On a CPU these repeat test_joint.py, test_gradients.py and test_noise.py.
elsewhere = pytest.mark.skipif(len(HERE) == 1, reason="no GPU")


@pytest.fixture(params=HERE)
def device(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def on_both(layout: Layout, device: str) -> tuple[HookedModel, HookedModel]:
    """The same model on a device and on the CPU."""
    here, there = (tiny_model(layout, n_layers=3).model for _ in range(2))
    return adapt(here.to(device)), adapt(there)


ROWS = each_value(["suffix", "last_position", "hooked"], LAYOUTS, ["denoising_patch", "mean_ablation"])


@pytest.mark.parametrize(("path", "layout", "method"), ROWS if len(HERE) > 1 else ROWS[:1])
def test_sweeps(layout: Any, path: str, method: str, device: str) -> None:
    here, there = on_both(layout, device)
    batch = prefixed_batch(3, 12, 5)
    options: dict[str, Any] = {"metrics": METRICS, "positions": "last" if path == "last_position" else "all"}
    if method == "mean_ablation":
        options["reference"] = random_batch(4, 12, seed=50)
    found = sweep(here, batch, method, path="hooked" if path == "hooked" else "auto", **options)
    expected = sweep(there, batch, method, path="hooked", **options)
    assert found.attrs["path"] == path
    assert here.device.type == device
    for name in ("clean", "corrupted", "patched"):
        assert np.abs(found[name] - expected[name]).max() <= TOLERANCE[device]
    assert np.abs(expected.patched - expected[expected.attrs["base"]]).max() > 0.01


@elsewhere
def test_sets_of_heads_and_gradients(device: str) -> None:
    here, there = on_both("llama", device)
    batch, sets = prefixed_batch(3, 12, 5), [["L0H1"], ["L0H1", "L1H0"], ["L0H1", "L1H0", "L2H1"]]
    pairs = [(joint_sweep(here, batch, "denoising_patch", sets, metrics=METRICS),
              joint_sweep(there, batch, "denoising_patch", sets, metrics=METRICS, path="hooked"))]  # fmt: skip
    assert pairs[0][0].attrs["path"] == "last_position"
    for steps in (0, 2):
        options: dict[str, Any] = {"metrics": ["logit_diff"], "ig_steps": steps}
        pairs.append(tuple(hc.methods.attribution_patch(model, batch, **options) for model in (here, there)))
    for found, expected in pairs:
        assert np.abs(found.patched - expected.patched).max() <= TOLERANCE[device]


@elsewhere
def test_sixteen_bits(device: str) -> None:
    here, there = on_both("llama", device)
    batch = prefixed_batch(3, 12, 5)
    found = sweep(adapt(here.model.to(torch.bfloat16)), batch, "denoising_patch", metrics=METRICS, positions="last")
    expected = sweep(there, batch, "denoising_patch", metrics=METRICS, positions="last")
    assert np.abs(found.patched - expected.patched).max() <= 0.5
    assert float(found.noise.max()) > 0
