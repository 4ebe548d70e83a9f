"""The reference path: ordinary hooked forwards, several sets of heads batched as extra rows.

Exact by construction, so every faster path is tested against it; and it works for every model that has hooks at all.
"""

from collections.abc import Callable, Mapping, Sequence

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from headcats.metrics.definition import Targets, measure
from headcats.models.adapter import HookedModel
from headcats.models.hooks import Edit
from headcats.sweeps.intervention import Z
from headcats.sweeps.tree import HeadSet


def hooked(
    model: HookedModel,
    tokens: Int[Tensor, "prompt all_pos"],
    sets: Sequence[HeadSet],
    *,
    new_z: Callable[[int], Z],
    mask: Bool[Tensor, "prompt pos"],
    names: tuple[str, ...],
    targets: Targets,
) -> Float[Tensor, "metric prompt set"]:
    """Metrics of one forward pass in which a row is a prompt with one of the sets of heads replaced.

    An empty set gives the unpatched run. `new_z` gives a layer's new z of all its heads at the last positions of the
    prompts, as many as `mask` has.
    """
    logits = model.logits(tokens.repeat(len(sets), 1), edits=edits(sets, new_z, mask))
    values = measure(names, logits, targets, of=torch.arange(len(tokens)).repeat(len(sets)))
    return values.unflatten(1, (len(sets), len(tokens))).transpose(1, 2)


def edits(sets: Sequence[HeadSet], new_z: Callable[[int], Z], mask: Bool[Tensor, "prompt pos"]) -> Mapping[int, Edit]:
    """Layer -> edit of z `[set * prompt, all_pos, head, d_head]`: in the rows of each set, its heads are replaced."""
    by_layer: dict[int, list[tuple[int, int]]] = {}
    for place, heads in enumerate(sets):
        for layer, head in heads:
            by_layer.setdefault(layer, []).append((place, head))
    return {layer: _replace(replaced, len(sets), new_z(layer), mask) for layer, replaced in by_layer.items()}


def _replace(replaced: list[tuple[int, int]], n_sets: int, new: Z, mask: Bool[Tensor, "prompt pos"]) -> Edit:
    def edit(z: Tensor) -> Tensor:
        values = new.to(z.device, z.dtype)
        replaces = mask.to(z.device)[..., None]
        edited = z.unflatten(0, (n_sets, -1)).clone()
        part = edited[:, :, z.shape[1] - mask.shape[1] :]
        for place, head in replaced:
            part[place, :, :, head] = torch.where(replaces, values[:, :, head], part[place, :, :, head])
        return edited.flatten(0, 1)

    return edit
