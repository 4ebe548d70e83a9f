"""The sweep against plain transformers with a hook of our own, and however its work is cut."""

import dataclasses
from typing import Any

import numpy as np
import pytest
import torch
from architectures import N_HEADS, head_edits, plain_logits, plain_z, tiny_bridge
from batches import ROLES, numbers, random_batch, random_role_batch, with_second
from toys import Toy

from headcats.models.adapter import HookedModel, adapt
from headcats.models.continued import Continued
from headcats.prompts.batch import PromptBatch
from headcats.sweeps import engine, hooked, memory
from headcats.sweeps.batch_sweep import sweep

METRICS = ["logit_diff", "log_prob"]


# Method and positions.
CASES = [
    *(("denoising_patch", place) for place in ("last", "all")),
    *(("noising_patch", place) for place in ("last", "all")),
    ("zero_ablation", "all"),
    *(("mean_ablation", place) for place in ("last", "all")),
    # With a reference of one prompt the donor is known.
    ("resample_ablation", "all"),
    ("other_item_patch", "last"),
    *(("second_corruption_patch", place) for place in ("last", "all")),
]


def new_values(method: str, oracle: Any, batch: PromptBatch, reference: PromptBatch) -> dict[int, torch.Tensor]:
    """z that takes the place of a head's own, layer by layer."""
    source = {"denoising_patch": batch.clean, "noising_patch": batch.corrupted, "zero_ablation": batch.clean}
    source["second_corruption_patch"] = batch.second
    z = plain_z(oracle, source.get(method, reference.clean))
    if method == "zero_ablation":
        return {layer: torch.zeros_like(value) for layer, value in z.items()}
    if method in source:
        return z
    return {layer: value.mean(0).expand(len(batch), -1, -1, -1) for layer, value in z.items()}


@pytest.mark.parametrize(("method", "positions"), CASES)
def test_equals_plain_transformers(each_toy: Toy, method: str, positions: str, record_property: Any) -> None:
    batch = with_second(random_batch(3, 7))
    reference = dataclasses.replace(random_batch(5, 7, seed=50), items=tuple(f"held out {i}" for i in range(5)))
    base = "corrupted" if method.endswith("patch") and method != "noising_patch" else "clean"
    oracle, where = each_toy.oracle, slice(None) if positions == "all" else [-1]
    given = reference.select([0]) if method in ("resample_ablation", "other_item_patch") else reference
    ds = sweep(each_toy.model, batch, method, metrics=METRICS, positions=positions, reference=given)
    unpatched = {run: numbers(plain_logits(oracle, getattr(batch, run)), batch) for run in ("clean", "corrupted")}
    for run, expected in unpatched.items():
        assert np.abs(ds[run] - expected).max() < 2e-5
    differences = []
    z = new_values(method, oracle, batch, given)
    for layer in z:
        for head in range(N_HEADS):
            edits = head_edits([(layer, head)], z, where)
            expected = numbers(plain_logits(oracle, getattr(batch, base), edits=edits), batch)
            assert np.abs(expected - unpatched[base]).max() > 1e-3  # the head matters
            differences.append(np.abs(ds.patched.sel(layer=layer, head=head).values - expected).max())
    record_property("largest difference", float(max(differences)))
    assert max(differences) < 2e-5


@pytest.mark.parametrize(
    ("method", "prompts", "rows", "forwards"),
    [
        ("denoising_patch", 1, 1, 24),
        ("mean_ablation", 3, 3, 3),
        ("resample_ablation", 2, 3, 6),
        ("denoising_patch", 3, 8, 1),
    ],
)
def test_the_number_of_heads_and_prompts_in_a_forward_does_not_matter(
    toy: Toy, method: str, prompts: int, rows: int, forwards: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch, model = random_batch(3, 7), adapt(toy.model)
    together = sweep(model, batch, method, metrics=METRICS, path="hooked")
    whole, seen = memory.plan, []

    def cut(*args: Any, **options: Any) -> memory.MemoryPlan:
        return dataclasses.replace(whole(*args, **options), prompts=prompts, rows=rows)

    def counted(model: HookedModel, continued: Continued, *args: Any, **options: Any) -> torch.Tensor:
        seen.append(len(continued))
        return hooked.hooked(model, continued, *args, **options)

    monkeypatch.setattr(memory, "plan", cut)
    monkeypatch.setattr(engine, "hooked", counted)
    apart = sweep(model, batch, method, metrics=METRICS, path="hooked")
    assert len(seen) == forwards
    assert max(seen) == prompts
    assert float(abs(together.patched - apart.patched).max()) < 2e-5


class TestPositions:
    def test_a_role_by_name(self, toy: Toy) -> None:
        batch, oracle = random_role_batch(3), toy.oracle
        ds = sweep(toy.model, batch, "denoising_patch", positions="x1", metrics=METRICS)
        assert ds.attrs["positions"] == "x1"
        edits = head_edits([(0, 2)], plain_z(oracle, batch.clean), [ROLES.index("x1")])
        expected = plain_logits(oracle, batch.corrupted, edits=edits)
        assert np.abs(ds.patched.sel(layer=0, head=2).values - numbers(expected, batch)).max() < 2e-5
        # What the last layer says at an earlier token reaches no prediction at the last one.
        assert np.abs(ds.patched.sel(layer=1).values - ds.corrupted.values[..., None]).max() < 2e-5
        assert np.abs(ds.patched.sel(layer=0).values - ds.corrupted.values[..., None]).max() > 1e-3

    def test_roles_may_stand_elsewhere_in_each_prompt(self, toy: Toy) -> None:
        batch = random_role_batch(2)
        labels = (ROLES, ("bos", "y1", "x1", "between1", "x_query", "last"))
        mixed = PromptBatch(**{**vars(batch), "labels": labels, "corrupted_labels": labels})
        ds = sweep(toy.model, mixed, "denoising_patch", positions="x1")
        alone = sweep(toy.model, batch, "denoising_patch", positions="x1")
        other = sweep(toy.model, batch, "denoising_patch", positions="y1")
        assert np.abs(ds.patched[:, 0].values - alone.patched[:, 0].values).max() < 2e-5
        assert np.abs(ds.patched[:, 1].values - other.patched[:, 1].values).max() < 2e-5


def test_heads_that_a_layer_does_not_have_are_nan() -> None:
    raw, batch = tiny_bridge("laguna"), random_batch()
    patched = sweep(raw, batch, "denoising_patch", path="hooked").patched
    exists = np.array([[1, 1, 1, 1], [1, 1, 0, 0], [1, 1, 1, 1]], dtype=bool)
    assert (np.isnan(patched.values) == ~exists).all()
    model = HookedModel(raw)
    clean = model.capture(batch.clean)[1][1]

    def edit(z: torch.Tensor) -> torch.Tensor:
        z[:, -1, 1] = clean[:, -1, 1]
        return z

    logits, rows = model.logits(batch.corrupted, edits={1: edit}), torch.arange(len(batch))
    expected = logits[rows, batch.answer] - logits[rows, batch.distractor]
    assert np.abs(patched.sel(layer=1, head=1).values[0] - expected.numpy()).max() < 2e-5
