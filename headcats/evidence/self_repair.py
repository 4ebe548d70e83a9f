"""Do other heads make up for ablated ones? Single against joint damage, direct against total effects.

The direct effect of a head is what its output alone tells the unembedding: in the clean run `(z_new - z) W_O` is added
behind the last block (Rushing & Nanda 2024, arXiv 2402.15390). If the total effect is smaller, later layers repair the
head; if joint damage exceeds the sum of single damages, the heads stand in for each other.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import torch
import xarray as xr
from jaxtyping import Float
from torch import Tensor

from headcats.evidence.damage import METRIC, TaskDamage, covered_half
from headcats.metrics.definition import measure
from headcats.models.adapter import HookedModel
from headcats.models.head import Head
from headcats.models.hooks import Edit, hook_after
from headcats.prompts.batch import PromptBatch
from headcats.results.finding import Finding, line
from headcats.sweeps.donors import UncoveredRoles
from headcats.sweeps.reference import Reference
from headcats.sweeps.runs import BaseRuns
from headcats.sweeps.tree import HeadSet

NOT_COMPARABLE = line("evidence.not_comparable")


def sets_of(heads: Sequence[Head]) -> set[HeadSet]:
    """The sets of heads that are ablated on a category's own tasks: each head alone and all together."""
    return {tuple(sorted(heads)), *((head,) for head in heads)} - {()}


def self_repair(
    tested: Mapping[str, Sequence[Head]],
    measured: Mapping[str, TaskDamage],
    direct: Mapping[str, Mapping[Head, float]],
    *,
    notes: Mapping[int, Finding],
    positions: str = "last",
) -> xr.Dataset:
    """Signs of repair among the heads of each category, on its own tasks; they describe and test nothing.

    `measured` has every set of `sets_of`; `direct` is task -> head -> direct effect at the last position, and `notes`
    layer -> why its heads have none. Variables: docs/schema.md, in shares of the gap; redundancy is positive where
    heads stand in for each other.
    """
    note = "" if positions == "last" else str(NOT_COMPARABLE)
    most = max((len(heads) for heads in tested.values()), default=0)
    tasks = {name: [task for task, damage in measured.items() if damage.category == name] for name in tested}
    names, notes_by_head = (np.full((len(tested), most), "", dtype=object) for _ in range(2))
    total, effect = (np.full((len(tested), most), np.nan) for _ in range(2))
    joint, summed = (np.full(len(tested), np.nan) for _ in range(2))
    for row, (category, heads) in enumerate(tested.items()):
        n = len(heads)
        names[row, :n] = [str(head) for head in heads]
        notes_by_head[row, :n] = [str(notes.get(head.layer, note)) for head in heads]
        if tasks[category] and heads:
            damages = [measured[task] for task in tasks[category]]
            total[row, :n] = np.mean([damage.shares([(head,) for head in heads]) for damage in damages], axis=0)
            effect[row, :n] = [np.mean([direct[task][head] for task in tasks[category]]) for head in heads]
            summed[row] = total[row, :n].sum()
            joint[row] = np.mean([damage.shares([tuple(heads)])[0] for damage in damages])
    per_head = ("category", "place")
    return xr.Dataset(
        {
            "joint": ("category", joint),
            "sum_of_single": ("category", summed),
            "redundancy": ("category", joint - summed),
            "n_tasks": ("category", np.array([len(tasks[name]) for name in tested], dtype=np.int64)),
            "head": (per_head, names.astype(str)),
            "note": (per_head, notes_by_head.astype(str)),
            "repaired": (per_head, effect - total + (np.nan if note else 0.0)),
            "total": (per_head, total),
            "direct": (per_head, effect),
        },
        coords={"category": list(tested), "place": np.arange(most)},
    )


def direct_effects(
    model: HookedModel, batches: Sequence[PromptBatch], heads: Sequence[Head], *, reference: Reference
) -> dict[Head, float]:
    """Direct effect of ablating each head at the last position, as a share of the gap; positive = the head helps.

    Of heads whose output reaches the residual stream as `z W_O`; prompts with roles that the reference lacks are left
    out.
    """
    if not heads or not batches:
        return dict.fromkeys(heads, float("nan"))
    drops: list[Tensor] = []
    gaps: list[Tensor] = []
    for batch in batches:
        covered, means = _covered(model, batch, sorted({head.layer for head in heads}), reference)
        runs = BaseRuns(model, covered)
        clean, corrupted = (runs.measured((METRIC,), side)[0] for side in (runs.clean, runs.corrupted))
        gaps.append((clean - corrupted).cpu())
        columns = []
        for head in heads:
            new = means[head.layer][:, 0, head.head]
            z = runs.clean.z(head.layer, first=covered.length - 1)[:, 0, head.head]
            added = (new.to(z) - z) @ model.W_O(head.layer)[head.head].to(z)
            logits = model.run(covered.clean, hooks={hook_after(model.n_layers - 1): _adding(added)})
            # What a head writes behind the last block reaches the first token of an answer, and no later one.
            changed = measure((METRIC,), logits, runs.targets, rest=runs.clean.rest)[0]
            columns.append((clean - changed).cpu())
        drops.append(torch.stack(columns, -1))
    effects = torch.cat(drops).double().mean(0) / torch.cat(gaps).double().mean()
    return dict(zip(heads, effects.tolist(), strict=True))


def _covered(
    model: HookedModel, batch: PromptBatch, layers: Sequence[int], reference: Reference
) -> tuple[PromptBatch, dict[int, Tensor]]:
    """The prompts whose last token's role the reference has, and layer -> their mean z at the last position."""
    mask, last = batch.positions("last"), batch.length - 1
    try:
        return batch, {layer: reference.mean(model, batch, layer, mask, first=last) for layer in layers}
    except UncoveredRoles as problem:
        return _covered(model, batch.select(covered_half(problem, len(batch))), layers, reference)


def _adding(added: Float[Tensor, "prompt d_model"]) -> Edit:
    """Add at the last position alone."""

    def edit(value: Tensor) -> Tensor:
        value = value.clone()
        value[:, -1] += added.to(value)
        return value

    return edit
