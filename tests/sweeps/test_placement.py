"""Sweeps of models whose weights are elsewhere: the numbers of the resident model, by the same path."""

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from architectures import ARCHITECTURES, N_HEADS
from peaks import peak_bytes
from placements import SECOND, on_disk, placed
from prefixes import prefixed_batch
from pretended import pretended_devices, room_on
from toys import hf_model, word_tokenizer

from headcats.base.errors import ModelError
from headcats.models.adapter import HookedModel
from headcats.models.checks import check_model
from headcats.models.loading import load_model
from headcats.models.weights import largest_offloaded, resident_bytes
from headcats.sweeps.batch_sweep import sweep
from headcats.sweeps.memory import Footprint, Sizes
from headcats.sweeps.within_memory import budget

pytestmark = [
    pytest.mark.needs_tl4("the bridge of 3.x reads offloaded weights where they are not"),
    pytest.mark.filterwarnings("ignore:.*ordinary hooked forwards"),
]
METRICS = ["logit_diff", "log_prob"]
HEADER = 4096
"""Bytes of a file of weights beside the weights."""
# Kinds of blocks that differ in what they read: learned and rotary positions, windows, experts, ALiBi.
OFFLOADED = (("gpt2", "disk"), ("gemma2", "memory"), ("mixtral", "memory"), ("bloom", "disk"))
# Experts are counted by a kernel that CPUs lack for whole numbers; the bridge's forward pass of Falcon reads its first
# norm where the tokens are.
NOT_SPREAD = {"mixtral", "gpt_oss", "qwen3_next", "falcon", "deepseek_v2", "deepseek_v3", "glm4_moe_lite"}
ALL = [(name, place) for name in ARCHITECTURES for place in ("memory", "disk") if name != "bamba"]
ALL += [(name, "two devices") for name in ARCHITECTURES if name not in NOT_SPREAD]


def check(name: str, placement: str, folder: Path, positions: str) -> None:
    """An architecture placed so gives the numbers of a resident one."""
    here, there = placed(name, "here", folder), placed(name, placement, folder)
    assert there.placement == {"two devices": f"cpu, {SECOND}"}.get(placement, "cpu, offloaded")
    batch, options = prefixed_batch(2, 6, 3), {"metrics": METRICS, "positions": positions}
    expected = sweep(here, batch, "denoising_patch", **options)
    with pretended_devices() if placement == "two devices" else nullcontext():
        actual = sweep(there, batch, "denoising_patch", **options)
    assert actual.attrs["path"] == expected.attrs["path"]
    assert np.abs(expected.patched - expected.corrupted).max() > 0.01
    difference = np.abs(actual.patched - expected.patched).max()
    # The same kernels on the same numbers; what lies behind other strides may be summed in another order.
    assert difference <= (1e-6 if placement == "two devices" else 0)


@pytest.mark.parametrize(("name", "placement"), [("llama", "two devices"), OFFLOADED[0]])
def test_the_numbers_of_the_resident_model(name: str, placement: str, tmp_path: Path) -> None:
    check(name, placement, tmp_path, "all" if len(name) % 2 else "last")


@pytest.mark.slow
@pytest.mark.parametrize("positions", ["last", "all"])
@pytest.mark.parametrize(("name", "placement"), ALL)
def test_all_architectures(name: str, placement: str, positions: str, tmp_path: Path) -> None:
    check(name, placement, tmp_path, positions)


@pytest.mark.slow
@pytest.mark.parametrize(("path", "positions"), [("auto", "all"), ("auto", "last"), ("hooked", "all")])
def test_work_is_halved_where_one_device_of_two_runs_out_of_memory(
    path: str, positions: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    model, batch = placed("llama", "two devices", tmp_path), prefixed_batch(4, 12, 5)
    options: dict[str, Any] = {"metrics": METRICS, "positions": positions, "path": path}
    with pretended_devices():
        with room_on(SECOND) as room:
            expected = sweep(model, batch, "denoising_patch", **options)
        with room_on(SECOND, room.largest // 3) as short, caplog.at_level("WARNING", "headcats"):
            actual = sweep(model, batch, "denoising_patch", **options)
    assert short.refused >= 2  # a half, and half of it
    assert actual.attrs["path"] == expected.attrs["path"]
    assert np.abs(actual.patched - expected.patched).max() <= 1e-6
    assert np.abs(expected.patched - expected.corrupted).max() > 0.01
    assert any(f"cpu or {SECOND} ran out" in message for message in caplog.messages)


@pytest.mark.parametrize("placement", ["memory", "disk"])
def test_weights_that_are_read_where_they_are_not(placement: str, tmp_path: Path) -> None:
    """The bridge of Bamba reads its convolutions outside of their modules: whatever lies in memory there."""
    with pytest.raises(ModelError, match=r"'toy' .*aten.convolution.default"):
        check_model(placed("bamba", placement, tmp_path))


def test_offloaded_weights_that_are_read_where_they_are(tmp_path: Path) -> None:
    for name, placement in OFFLOADED[2:]:  # a sweep checks it too
        check_model(placed(name, placement, tmp_path / name))


def test_an_offloaded_model_that_differs_from_run_to_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = placed("llama", "memory", tmp_path)
    logits = model.logits
    monkeypatch.setattr(model, "logits", lambda tokens: torch.nn.functional.dropout(logits(tokens)))
    with pytest.raises(ModelError, match="on every run"):
        check_model(model)


def test_the_largest_offloaded_module_is_planned_for(tmp_path: Path) -> None:
    def peak(model: HookedModel) -> int:
        return Footprint(Sizes.of(model), 3, 12, 5, "suffix").peak(1, 1, budget=10**9)

    here, there = placed("llama", "here", tmp_path), placed("llama", "disk", tmp_path)
    queries = 4 * N_HEADS * there.d_head[0] * there.d_model
    assert peak(there) - peak(here) == queries


@pytest.mark.slow
@pytest.mark.parametrize(("width", "n_layers", "memory"), [(256, 4, "3MB"), (1024, 16, "60MB")])
def test_weights_on_disk_take_no_memory(tmp_path: Path, width: int, n_layers: int, memory: str) -> None:
    """A model whose blocks are larger than the limit: within it, and equal to the resident one to the bit."""
    sizes = {"hidden_size": width, "intermediate_size": 4 * width, "head_dim": width // 4}
    folder = tmp_path / "model"
    # In small files: a mapped file counts as memory here, all of it, for as long as one of its weights is read.
    hf_model("llama", n_layers=n_layers, **sizes).save_pretrained(folder, max_shard_size="1MB")
    word_tokenizer().save_pretrained(folder)
    here = load_model(folder, device="cpu")
    there = load_model(folder, **on_disk(tmp_path / "disk", blocks=range(n_layers), n_blocks=n_layers))
    batch, limit = prefixed_batch(2, 12, 5), budget(memory, there.device)
    assert resident_bytes(here.model) > 3 * limit
    for positions in ("last", "all"):
        swept = {}

        def work(positions: str = positions, swept: dict[str, Any] = swept) -> None:
            swept["disk"] = sweep(there, batch, "denoising_patch", positions=positions, memory=memory)

        assert peak_bytes(work) <= limit + HEADER
        # The same rows at a time, so that sums are added in the same order.
        as_much = limit - largest_offloaded(there.model)
        expected = sweep(here, batch, "denoising_patch", positions=positions, memory=as_much)
        assert np.array_equal(swept["disk"].patched, expected.patched)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
@pytest.mark.parametrize("placement", ["memory", "disk"])
def test_on_a_gpu(placement: str, tmp_path: Path) -> None:
    here, there = placed("llama", "here", tmp_path), placed("llama", placement, tmp_path, device="cuda")
    batch = prefixed_batch(3, 12, 5)
    for positions in ("last", "all"):
        expected, actual = (sweep(model, batch, "denoising_patch", positions=positions) for model in (here, there))
        assert actual.attrs["path"] == expected.attrs["path"]
        assert np.abs(actual.patched - expected.patched).max() < 1e-4
