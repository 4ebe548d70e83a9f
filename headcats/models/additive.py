"""Do heads add `z W_O` to the residual stream? Only then is there a direct path from a head to the unembedding."""

from collections.abc import Iterable

import torch
from torch import Tensor

from headcats.base.errors import HeadcatsError
from headcats.models.adapter import HookedModel
from headcats.models.checks import noise_floor
from headcats.models.hooks import Edit, hook_after, hook_before, hook_z, keeping
from headcats.results.finding import Finding, line

_CHECKED_PROMPTS = 2


def not_additive(model: HookedModel, tokens: Tensor, layers: Iterable[int]) -> dict[int, Finding]:
    """Layer -> why its heads do not add `z W_O` to the residual stream, or why that is not known; {} where all do.

    Measured in two forward passes: with z at the last position set to 0, and what the block reads and the output of its
    MLP held, the residual stream after the block must change by `-z W_O`, summed over heads.
    """
    tokens, layers, seen = tokens[:_CHECKED_PROMPTS], list(layers), dict[str, Tensor]()
    mlps = [name for layer in layers if (name := f"blocks.{layer}.hook_mlp_out") in model.model.hook_dict]
    held = [*map(hook_before, layers), *mlps]
    read = [*map(hook_z, layers), *map(hook_after, layers)]
    try:
        model.run(tokens, hooks={name: keeping(seen, name) for name in dict.fromkeys([*held, *read])})
        changed = dict[str, Tensor]()
        hooks: dict[str, Edit] = {name: seen[name].to for name in held}  # as it was
        hooks |= {hook_z(layer): _last_is_zero for layer in layers}
        hooks |= {hook_after(layer): keeping(changed, hook_after(layer)) for layer in layers}
        model.run(tokens, hooks=hooks)
    except HeadcatsError as error:
        return {layer: line("direct.unknown", layer=layer, error=str(error)) for layer in layers}
    notes = {}
    for layer in layers:
        before, after = (stream[hook_after(layer)][:, -1] for stream in (seen, changed))
        z = seen[hook_z(layer)][:, -1]
        expected = -torch.einsum("phd,hdm->pm", z, model.W_O(layer).to(z)).float().to(before.device)
        difference = (after - before).float()
        off, size = float((difference - expected).abs().max()), float(expected.abs().max())
        if not off <= max(1e-3 * size, noise_floor(before.float(), model.dtype)):
            largest = float(difference.abs().max())
            notes[layer] = line("direct.not_additive", layer=layer, changed=largest, size=size, off=off)
    return notes


def _last_is_zero(z: Tensor) -> Tensor:
    z = z.clone()
    z[:, -1] = 0
    return z
