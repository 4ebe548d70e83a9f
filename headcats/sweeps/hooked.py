"""The reference path: ordinary hooked forwards, all heads of a layer batched as extra rows.

Exact by construction, so every faster path is tested against it.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from headcats.errors import ModelError
from headcats.metrics import measure
from headcats.sweeps.intervention import Intervention, Z
from headcats.sweeps.reference import Reference
from headcats.sweeps.runs import BaseRuns, LayerSources

# Bound on the rows of one forward, so that its activations stay within about this many bytes whatever the model's size.
# It depends on shapes alone: a resumed run cuts its work in the same places as an uninterrupted one.
ACTIVATION_BYTES = 1 << 29


@dataclass(frozen=True)
class Forward:
    """Heads of one layer and prompts that share a forward: one row per head and prompt."""

    layer: int
    heads: range
    prompts: slice


def forwards(runs: BaseRuns) -> list[Forward]:
    """The forwards of a sweep: all heads of a layer on all prompts, cut where more rows would exceed the bound."""
    model, batch = runs.model, runs.batch
    width = max(4 * model.d_model, model.d_vocab // 8) * 4
    rows = max(1, ACTIVATION_BYTES // (width * 4 * batch.length))
    prompts = min(len(batch), rows)
    heads = rows // prompts
    return [
        Forward(layer, range(first, min(first + heads, model.n_heads[layer])), slice(start, start + prompts))
        for layer in model.layers
        for first in range(0, model.n_heads[layer], heads)
        for start in range(0, len(batch), prompts)
    ]


def hooked_sweep(
    runs: BaseRuns,
    intervention: Intervention,
    *,
    metrics: tuple[str, ...],
    mask: Bool[Tensor, "prompt pos"],
    reference: Reference,
    advance: Callable[[int], None] = lambda heads: None,
) -> Float[Tensor, "metric prompt layer head"]:
    """The metric of every prompt with one head replaced, for every head.

    Args:
        runs: Clean and corrupted runs of the batch.
        intervention: Which run, and what replaces z.
        metrics: Names of metrics, all read from the same forwards.
        mask: Tokens at which z is replaced.
        reference: Prompts for `mean` and `resampled`.
        advance: Called with the number of heads done.

    Returns:
        fp32, on the CPU; layers in the order of `model.layers`, NaN for heads a layer does not have.
    """
    model, batch = runs.model, runs.batch
    tokens = batch.corrupted if intervention.base == "corrupted" else batch.clean
    mask = mask.to(model.device)
    patched = torch.full((len(metrics), len(batch), len(model.layers), model.max_heads), float("nan"))
    donors: dict[int, Z] = {}
    for layer in model.layers:
        replacement = intervention.replacement(LayerSources(runs, layer, reference, mask, donors))
        for forward in (one for one in forwards(runs) if one.layer == layer):
            copies, prompts = len(forward.heads), forward.prompts
            edit = _replace_one_head_per_copy(forward.heads, replacement[prompts], mask[prompts])
            logits = model.logits(tokens[prompts].repeat(copies, 1), edits={layer: edit})
            values = measure(metrics, logits, runs.targets.select(prompts).repeat(copies))
            patched[:, prompts, model.layers.index(layer), forward.heads.start : forward.heads.stop] = (
                values.unflatten(1, (copies, -1)).transpose(1, 2).cpu()
            )
            if prompts.stop >= len(batch):
                advance(copies)
    return patched


def _replace_one_head_per_copy(
    heads: range, replacement: Tensor, mask: Bool[Tensor, "prompt pos"]
) -> Callable[[Tensor], Tensor]:
    """Edit of `[copy * prompt, pos, head, d_head]`: in copy i, head `heads[i]` becomes the replacement at the mask."""

    def edit(z: Tensor) -> Tensor:
        copies = z.unflatten(0, (len(heads), -1))
        if replacement.shape != copies.shape[1:]:
            raise ModelError(
                f"A replacement must have z's shape {tuple(copies.shape[1:])}; got {tuple(replacement.shape)}."
            )
        new = replacement.to(device=z.device, dtype=z.dtype)
        where = mask.to(z.device)[..., None]
        edited = copies.clone()
        for copy, head in enumerate(heads):
            edited[copy, :, :, head] = torch.where(where, new[:, :, head], copies[copy, :, :, head])
        return edited.flatten(0, 1)

    return edit
