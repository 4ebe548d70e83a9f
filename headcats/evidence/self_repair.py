"""Do other heads make up for ablated ones? Single damages against joint damage, direct effects against total ones.

The direct effect of a head is what its output says to the unembedding by itself: in the clean run `(z_new - z) W_O` is
added to the final residual stream, after the last block, so that no other part of the model can react (Rushing & Nanda
2024, arXiv 2402.15390). The total effect is the ablation. A total effect smaller than the direct one means that later
layers repair it; a joint damage larger than the sum of single damages, that the heads stand in for each other.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import torch
import xarray as xr
from jaxtyping import Float
from torch import Tensor

from headcats.errors import HeadcatsError
from headcats.evidence.damage import METRIC, TaskDamage
from headcats.metrics import measure
from headcats.models import Head, HookedModel
from headcats.models.checks import noise_floor
from headcats.models.hooks import Edit
from headcats.prompts.batch import PromptBatch
from headcats.sweeps.donors import UncoveredRoles
from headcats.sweeps.reference import Reference
from headcats.sweeps.runs import BaseRuns
from headcats.sweeps.tree import HeadSet

_CHECKED_PROMPTS = 2
NOT_COMPARABLE = (
    "Whether later layers make up for single heads is unknown: they were ablated at all positions, and their direct "
    "effect is at the last one."
)


def sets_of(heads: Sequence[Head]) -> set[HeadSet]:
    """Every set of heads that is needed on a category's own tasks."""
    return {tuple(sorted(heads)), *((head,) for head in heads)} - {()}


def self_repair(
    tested: Mapping[str, Sequence[Head]],
    measured: Mapping[str, TaskDamage],
    direct: Mapping[str, Mapping[Head, float]],
    *,
    notes: Mapping[int, str],
    positions: str = "last",
) -> xr.Dataset:
    """Signs of repair among the heads of each category, on its own tasks.

    Args:
        tested: Category -> its tested heads, chosen with all of its tasks: this describes them, it tests nothing.
        measured: Task -> damages, with every set of `sets_of`.
        direct: Task -> head -> direct effect (see `direct_effects`).
        notes: Layer -> why its heads have no direct effect.
        positions: Where heads were ablated for `measured`. Direct effects are at the last position, so with "all"
            nothing can be subtracted from them: `repaired` is NaN, and `note` says so.

    Returns:
        Along `category`: `joint` (damage of all heads at once), `sum_of_single`, `redundancy = joint - sum_of_single`
        (positive: they stand in for each other), `n_tasks`. Along `(category, place)`, heads in their order: `head`
        (name, "" beyond the last), `total`, `direct`, `repaired = direct - total`, `note`. Shares of the gap, means
        over the category's tasks.
    """
    elsewhere = "" if positions == "last" else NOT_COMPARABLE
    most = max((len(heads) for heads in tested.values()), default=0)
    shape = (len(tested), most)
    per_head = {name: np.full(shape, np.nan) for name in ("total", "direct")}
    names, said = np.full(shape, "", dtype=object), np.full(shape, "", dtype=object)
    joint, summed, counts = np.full(shape[0], np.nan), np.full(shape[0], np.nan), np.zeros(shape[0], dtype=np.int64)
    for row, (category, heads) in enumerate(tested.items()):
        tasks = [task for task, found in measured.items() if found.category == category]
        counts[row] = len(tasks)
        for place, head in enumerate(heads):
            names[row, place], said[row, place] = str(head), notes.get(head.layer, "") or elsewhere
        if not tasks or not heads:
            continue
        single = np.mean([measured[task].of([(head,) for head in heads]) for task in tasks], axis=0)
        per_head["total"][row, : len(heads)] = single
        per_head["direct"][row, : len(heads)] = [np.mean([direct[task][head] for task in tasks]) for head in heads]
        joint[row], summed[row] = np.mean([measured[task].of([tuple(heads)])[0] for task in tasks]), single.sum()
    of_heads = ("category", "place")
    return xr.Dataset(
        {
            "joint": ("category", joint),
            "sum_of_single": ("category", summed),
            "redundancy": ("category", joint - summed),
            "n_tasks": ("category", counts),
            "head": (of_heads, names.astype(str)),
            "note": (of_heads, said.astype(str)),
            "repaired": (of_heads, per_head["direct"] - per_head["total"] + (np.nan if elsewhere else 0.0)),
            **{name: (of_heads, values) for name, values in per_head.items()},
        },
        coords={"category": list(tested), "place": np.arange(most)},
    )


def direct_effects(
    model: HookedModel, batches: Sequence[PromptBatch], heads: Sequence[Head], *, reference: Reference
) -> dict[Head, float]:
    """Direct effect of ablating each head at the last position, as a share of the gap; positive = the head helps.

    The norm and the unembedding are the model's own. Heads whose output does not reach the residual stream as `z W_O`
    have none: ask `why_not_additive` first.

    Args:
        model: The model.
        batches: Held-out prompts of one task.
        heads: The heads.
        reference: Prompts of the means that replace z. Prompts with a token role that it does not show are left out,
            unless that is most of them.

    Raises:
        UncoveredRoles: Most prompts of a batch have roles without reference.
    """
    if not heads or not batches:
        return dict.fromkeys(heads, float("nan"))
    drops: list[Tensor] = []
    gaps: list[Tensor] = []
    for given in batches:
        batch, means = _covered(model, given, sorted({head.layer for head in heads}), reference)
        runs = BaseRuns(model, batch)
        clean, corrupted = (measure((METRIC,), side.logits, runs.targets)[0] for side in (runs.clean, runs.corrupted))
        gaps.append((clean - corrupted).cpu())
        columns = []
        for head in heads:
            new = means[head.layer][:, -1, head.head]
            z = runs.clean.z(head.layer, first=batch.length - 1)[:, -1, head.head]
            added = (new.to(z) - z) @ model.W_O(head.layer)[head.head].to(z)
            logits = model.run(batch.clean, hooks={_stream(model.n_layers - 1): _adding(added)})
            columns.append((clean - measure((METRIC,), logits, runs.targets)[0]).cpu())
        drops.append(torch.stack(columns, -1))
    effects = torch.cat(drops).double().mean(0) / torch.cat(gaps).double().mean()
    return dict(zip(heads, effects.tolist(), strict=True))


def _covered(
    model: HookedModel, batch: PromptBatch, layers: Sequence[int], reference: Reference
) -> tuple[PromptBatch, dict[int, Tensor]]:
    """The prompts whose last token's role the reference shows, and layer -> mean z at the last position for them."""
    mask, last = batch.positions("last"), batch.length - 1
    try:
        return batch, {layer: reference.mean(model, batch, layer, mask, first=last) for layer in layers}
    except UncoveredRoles as problem:
        kept = [prompt for prompt in range(len(batch)) if prompt not in problem.prompts]
        if 2 * len(kept) < len(batch) or len(kept) == len(batch):
            raise
        return _covered(model, batch.select(kept), layers, reference)


def why_not_additive(model: HookedModel, tokens: Tensor, layer: int) -> str:
    """Why the heads of a layer do not add `z W_O` to the residual stream, as a sentence; "" where they do.

    Asked of the numbers, not of the architecture's name: z at the last position is set to 0, the MLP of the block is
    held at its own output, and the residual stream after the block must change by `-z W_O`, summed over heads. A norm
    after the attention (Gemma-2), a scaled residual branch or a norm after the addition fails.

    Args:
        model: The model.
        tokens: Some prompts; two are used.
        layer: The layer.
    """
    tokens = tokens[:_CHECKED_PROMPTS]
    seen: dict[str, Tensor] = {}

    def keep(name: str) -> Edit:
        def edit(value: Tensor) -> Tensor:
            seen[name] = value.detach().clone()
            return value

        return edit

    held = f"blocks.{layer}.hook_mlp_out"
    mlp = [held] if held in model.model.hook_dict else []
    z_name = f"blocks.{layer}.attn.hook_z"
    try:
        model.run(tokens, hooks={name: keep(name) for name in (z_name, _stream(layer), *mlp)})
        before, z = seen[_stream(layer)], seen[z_name][:, -1]
        hooks: dict[str, Edit] = {z_name: _silenced, _stream(layer): keep(_stream(layer))}
        for name in mlp:
            hooks[name] = _giving(seen[name])
        model.run(tokens, hooks=hooks)
    except HeadcatsError as error:
        return f"Whether the heads of layer {layer} add z W_O to the residual stream cannot be checked: {error}"
    changed = (seen[_stream(layer)] - before)[:, -1].float()
    weights = model.W_O(layer).to(z.device, z.dtype)
    expected = -torch.einsum("phd,hdm->pm", z, weights).float().to(changed.device)
    off, size = float((changed - expected).abs().max()), float(expected.abs().max())
    if off <= max(1e-3 * size, noise_floor(before[:, -1].float(), model.dtype)):
        return ""
    return (
        f"The heads of layer {layer} do not add z W_O to the residual stream (without them it changes by up to "
        f"{float(changed.abs().max()):.3g}, z W_O is up to {size:.3g}, the difference {off:.3g}), as behind a norm "
        "after the attention: they have no direct effect in this sense."
    )


def _stream(layer: int) -> str:
    return f"blocks.{layer}.hook_resid_post"


def _silenced(z: Tensor) -> Tensor:
    z = z.clone()
    z[:, -1] = 0
    return z


def _giving(value: Tensor) -> Edit:
    return lambda current: value.to(current.device, current.dtype)


def _adding(added: Float[Tensor, "prompt d_model"]) -> Callable[[Tensor], Tensor]:
    def edit(stream: Tensor) -> Tensor:
        stream = stream.clone()
        stream[:, -1] += added.to(stream.device, stream.dtype)
        return stream

    return edit
