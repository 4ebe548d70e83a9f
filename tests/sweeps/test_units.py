"""Groups of heads replaced at once: equal to joint sweeps of their heads, and to plain transformers."""

from typing import Any

import numpy as np
import pytest
import torch
from architectures import hf_architecture, plain_logits, plain_z, tiny_bridge
from batches import random_batch, random_role_batch
from covering import spread
from prefixes import prefixed_batch
from toys import BACKENDS, tiny_model

from headcats import registry
from headcats.errors import OptionError, UnknownNameError
from headcats.methods.causal import CausalMethod
from headcats.models.adapter import HookedModel, adapt
from headcats.prompts.batch import PromptBatch
from headcats.sweeps.batch_sweep import sweep, sweep_runs
from headcats.sweeps.joint import joint_sweep
from headcats.sweeps.reference import Reference
from headcats.sweeps.runs import BaseRuns

METHODS = [name for name in registry.names("method") if isinstance(registry.lookup("method", name), CausalMethod)]
GROUPED = ["llama", "gemma2", "qwen3", "mixtral", "gpt_oss", "falcon", "olmo2", "mistral", "granite", "bamba"]
GROUPED += ["qwen3_next"]


def groups_of(model: HookedModel) -> list[list[tuple[int, int]]]:
    """Heads of every group, layer by layer."""
    return [
        [(layer, head) for head in range(n) if head * model.n_kv_heads[layer] // n == group]
        for layer, n in model.n_heads.items()
        for group in range(model.n_kv_heads[layer])
    ]


def equal_to_joint(model: Any, batch: PromptBatch, method: str, **options: Any) -> tuple[float, float]:
    """Largest difference of the grouped effects from a joint sweep of the groups' heads, and the largest effect."""
    grouped = sweep(model, batch, method, unit="kv_group", **options)
    joint = joint_sweep(model, batch, method, groups_of(adapt(model)), **options)
    effect = np.abs(grouped.patched - grouped[grouped.attrs["base"]])
    values = grouped.patched.values.reshape(*grouped.patched.shape[:2], -1)
    return float(np.abs(values - joint.patched.values).max()), float(effect.max())


@pytest.mark.parametrize("path", ["auto", "hooked"])
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("method", METHODS)
def test_every_causal_method_equals_the_joint_sweep_of_each_group(method: str, backend: Any, path: str) -> None:
    batch = random_role_batch(3)
    if method == "second_corruption_patch":
        batch = random_batch(3)
        batch = PromptBatch.from_tokens(
            batch.clean, batch.corrupted, batch.answer, batch.distractor, second=batch.corrupted.roll(1, 0)
        )
    difference, effect = equal_to_joint(tiny_model("llama", backend).model, batch, method, path=path)
    assert effect > 0.05
    assert difference < 1e-5


@pytest.mark.filterwarnings("ignore:.*have no attention heads:headcats.errors.ModelWarning")  # hybrids
@pytest.mark.parametrize(("name", "positions"), spread(GROUPED, [("last",), ("all",)], per_name=1))
def test_every_grouped_architecture_equals_plain_transformers(name: str, positions: str) -> None:
    batch, model, twin = prefixed_batch(2, 8, 2), HookedModel(tiny_bridge(name)), hf_architecture(name)
    where: Any = [-1] if positions == "last" else slice(None)
    clean = plain_z(twin, batch.clean)
    ds = sweep(model.model, batch, "denoising_patch", metrics=["log_prob"], positions=positions, unit="kv_group")
    for layer, heads in ((group[0][0], [head for _, head in group]) for group in groups_of(model)):

        def edit(z: torch.Tensor, layer: int = layer, heads: list[int] = heads) -> torch.Tensor:
            z[:, where, heads] = clean[layer][:, where, heads]
            return z

        logits = plain_logits(twin, batch.corrupted, edits={layer: edit}).log_softmax(-1)
        expected = logits.gather(1, batch.answer[:, None])[:, 0].numpy()
        number = heads[0] * model.n_kv_heads[layer] // model.n_heads[layer]
        assert np.abs(ds.patched.sel(layer=layer, head=number).values[0] - expected).max() < 1e-4


def test_the_table_counts_groups() -> None:
    model, batch = tiny_model("llama").model, random_batch(2)
    heads, groups = (sweep(model, batch, "denoising_patch", unit=unit) for unit in ("head", "kv_group"))
    assert dict(groups.patched.sizes) == {"metric": 1, "prompt": 2, "layer": 3, "head": 2}
    assert heads.kv_head.values.tolist() == [[0, 0, 1, 1]] * 3
    assert "kv_head" not in groups.coords
    assert groups.attrs["unit"] == "kv_group"
    assert "unit" not in heads.attrs
    assert "kv_head" not in sweep(tiny_model("gpt2").model, batch, "denoising_patch").coords


def test_progress_counts_heads() -> None:
    model, batch, done = adapt(tiny_model("llama").model), random_batch(2), list[int]()
    intervention = registry.lookup("method", "denoising_patch").intervention
    for unit in ("head", "kv_group"):
        done.clear()
        sweep_runs(
            BaseRuns(model, batch), intervention, metrics=["logit_diff"], positions="last",
            reference=Reference(batch), unit=unit, advance=done.append,
        )  # fmt: skip
        assert sum(done) == 12


def test_heads_of_their_own_have_no_groups() -> None:
    with pytest.raises(OptionError, match="keys and values of its own"):
        sweep(tiny_model("gpt2").model, random_batch(), "denoising_patch", unit="kv_group")


def test_another_unit_is_refused() -> None:
    with pytest.raises(UnknownNameError, match=r"unit .kv_groups.\..*kv_group"):
        sweep(tiny_model("llama").model, random_batch(), "denoising_patch", unit="kv_groups")
