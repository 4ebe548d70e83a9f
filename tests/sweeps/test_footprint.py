"""Estimates of memory against measured peaks: never below, and not much above."""

import functools
import itertools
from typing import Any

import pytest
import torch
from architectures import bridge_of, hf_architecture
from covering import some
from peaks import peak_bytes
from prefixes import prefixed_batch
from toys import tiny_model

from headcats.methods import denoising_patch
from headcats.models.adapter import HookedModel, adapt
from headcats.prompts.batch import PromptBatch
from headcats.sweeps import memory
from headcats.sweeps.batch_sweep import sweep, sweep_runs
from headcats.sweeps.memory import Sizes
from headcats.sweeps.reference import Reference
from headcats.sweeps.runs import BaseRuns
from headcats.sweeps.within_memory import budget

GPT2_SMALL = {"n_layer": 12, "n_embd": 768, "n_head": 12, "vocab_size": 50257, "n_positions": 1024}
GROUPED = {
    "num_hidden_layers": 6,
    "hidden_size": 1024,
    "intermediate_size": 2816,
    "num_attention_heads": 16,
    "num_key_value_heads": 4,
    "head_dim": 64,
    "vocab_size": 32000,
    "max_position_embeddings": 1024,
}


def sweep_ratio(model: HookedModel, batch: PromptBatch, path: str, positions: str, metric: str, limit: str) -> float:
    """Estimated by measured peak of a sweep, its unpatched runs included."""
    options = {"metrics": [metric], "positions": positions, "path": "hooked" if path == "hooked" else "auto"}
    first = sweep(model, batch, "denoising_patch", memory=limit, **options)  # with its self-check, once per model
    assert first.attrs["path"] == path
    different = int((batch.clean != batch.corrupted).any(0).nonzero()[0])
    first_change = batch.length - 1 if positions == "last" else different
    expected = memory.plan(
        memory.Footprint(Sizes.of(model), len(batch), batch.length, first_change, path),
        rows=sum(model.n_heads.values()),
        budget=budget(limit, model.device),
    )

    def work() -> None:
        runs = BaseRuns(model, batch, limit=limit)
        sweep_runs(runs, denoising_patch.intervention, reference=Reference(batch), **options)

    return expected.peak / peak_bytes(work)


@pytest.mark.parametrize(
    ("layout", "path", "positions", "shared", "metric"),
    some(
        [
            ("gpt2", "last_position", "last", 0, "logit_diff"),
            ("llama", "suffix", "all", 20, "kl"),
            ("gpt2", "hooked", "all", 0, "logit_diff"),
            *itertools.product(["gpt2", "llama"], ["suffix", "hooked"], ["all"], [0, 20], ["logit_diff", "kl"]),
        ],
        3,
    ),
)
def test_sweeps(layout: Any, path: str, positions: str, shared: int, metric: str, record_property: Any) -> None:
    model = adapt(tiny_model(layout, n_layers=4).model)
    ratio = sweep_ratio(model, prefixed_batch(8, 30, shared), path, positions, metric, "1GB")
    record_property("estimate / peak", ratio)
    assert 1 <= ratio <= 6  # what does not grow with the model weighs more in a tiny one


SIZES = {"gpt2": GPT2_SMALL, "llama": GROUPED}


@functools.cache
def ratios_of(layout: str, dtype: torch.dtype) -> dict[str, float]:
    """Estimate by peak of sweeps of a model of a real shape."""
    hf = hf_architecture(layout, **SIZES[layout])
    with torch.no_grad():
        for weight in hf.parameters():
            weight.mul_(0.2 if weight.ndim > 1 else 1)
    model = adapt(bridge_of(hf))
    model.model.to(dtype)
    ratios = {}
    for path, positions, shape, metric, limit in (
        ("last_position", "last", (16, 48, 0), "logit_diff", "8GB"),
        ("last_position", "last", (16, 48, 0), "kl", "500MB"),
        ("last_position", "last", (4, 256, 0), "logit_diff", "8GB"),
        ("suffix", "all", (4, 32, 0), "logit_diff", "8GB"),
        ("suffix", "all", (16, 48, 40), "kl", "8GB"),
        ("hooked", "last", (2, 16, 0), "logit_diff", "8GB"),
        ("hooked", "last", (1, 256, 0), "kl", "8GB"),
    ):
        ratio = sweep_ratio(model, prefixed_batch(*shape), path, positions, metric, limit)
        ratios[f"{path} {shape} {metric} {limit}"] = ratio
    return ratios


MODELS = list(itertools.product(SIZES, [torch.float32, torch.bfloat16]))


@pytest.mark.slow
@pytest.mark.parametrize(("layout", "dtype"), MODELS, ids=str)
def test_shapes_of_real_models_never_take_more(layout: str, dtype: torch.dtype, record_property: Any) -> None:
    record_property("estimate / peak", ratios_of(layout, dtype))
    assert min(ratios_of(layout, dtype).values()) >= 1
