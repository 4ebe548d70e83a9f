"""Groups of heads replaced at once: equal to joint sweeps of their heads."""

from typing import Any

import numpy as np
import pytest
from architectures import tiny_bridge
from batches import random_batch, random_role_batch
from covering import some, spread
from prefixes import prefixed_batch
from toys import Toy, tiny_model

from headcats.base import registry
from headcats.base.errors import OptionError, UnknownNameError
from headcats.methods.causal import CausalMethod
from headcats.models.adapter import HookedModel, adapt
from headcats.prompts.batch import PromptBatch
from headcats.sweeps.batch_sweep import sweep, sweep_runs
from headcats.sweeps.joint import joint_sweep
from headcats.sweeps.reference import Reference
from headcats.sweeps.runs import BaseRuns

METHODS = [name for name in registry.names("method") if isinstance(registry.lookup("method", name), CausalMethod)]
GROUPED = ["falcon", "bamba", "gemma2", "gpt_oss", "qwen3", "mixtral", "olmo2", "mistral", "granite", "qwen3_next"]


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


@pytest.mark.parametrize(("method", "path"), spread(METHODS, [("auto",), ("hooked",)]))
def test_every_causal_method_equals_the_joint_sweep_of_each_group(toy: Toy, method: str, path: str) -> None:
    batch = random_role_batch(3)
    if method == "second_corruption_patch":
        batch = random_batch(3)
        batch = PromptBatch.from_tokens(
            batch.clean, batch.corrupted, batch.answer, batch.distractor, second=batch.corrupted.roll(1, 0)
        )
    difference, effect = equal_to_joint(toy.model, batch, method, path=path)
    assert effect > 0.05
    assert difference < 1e-5


@pytest.mark.filterwarnings("ignore:.*have no attention heads:headcats.base.errors.ModelWarning")  # hybrids
@pytest.mark.parametrize(("name", "positions"), spread(some(GROUPED, 4), [("all",), ("last",)]))
def test_every_grouped_architecture_equals_the_joint_sweep_of_each_group(name: str, positions: str) -> None:
    """Which equals plain transformers: see test_joint.py."""
    batch = prefixed_batch(2, 8, 2)
    difference, effect = equal_to_joint(tiny_bridge(name), batch, "denoising_patch", positions=positions)
    assert effect > 0.01
    assert difference < 1e-5


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
    for unit, path in (("head", "auto"), ("kv_group", "auto"), ("head", "hooked")):
        done.clear()
        sweep_runs(
            BaseRuns(model, batch), intervention, metrics=["logit_diff"], positions="last",
            reference=Reference(batch), unit=unit, path=path, advance=done.append,
        )  # fmt: skip
        assert sum(done) == 12


def test_heads_of_their_own_have_no_groups() -> None:
    with pytest.raises(OptionError, match="of its own"):
        sweep(tiny_model("gpt2").model, random_batch(), "denoising_patch", unit="kv_group")


def test_another_unit_is_refused() -> None:
    with pytest.raises(UnknownNameError, match=r"unit .kv_groups.\..*kv_group"):
        sweep(tiny_model("llama").model, random_batch(), "denoising_patch", unit="kv_groups")
