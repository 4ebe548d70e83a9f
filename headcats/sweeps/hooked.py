"""The reference path: ordinary hooked forwards, several sets of heads batched as extra rows.

Exact by construction, so every faster path is tested against it; and it works for every model that has hooks at all.
"""

from collections.abc import Callable, Mapping, Sequence

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from headcats.metrics.definition import Metrics, Targets, measure, reads_vocabulary
from headcats.metrics.rest import Rest, Scores, logit_scores, rest_of_scores
from headcats.models.adapter import HookedModel
from headcats.models.continued import Continued
from headcats.models.head import Head
from headcats.models.hooks import Edit, by_position, hook_at
from headcats.sweeps.intervention import Z
from headcats.sweeps.memory import readouts
from headcats.sweeps.tree import HeadSet


@torch.no_grad()
def hooked(
    model: HookedModel,
    continued: Continued,
    sets: Sequence[HeadSet],
    *,
    new_z: Callable[[int], Z],
    mask: Bool[Tensor, "prompt pos"],
    names: Metrics,
    targets: Targets,
    what: str = "z",
) -> Float[Tensor, "metric prompt set"]:
    """Metrics of one forward pass in which a row is a prompt and what follows it, with one of the sets replaced.

    An empty set gives the unpatched run. `new_z` gives a layer's new z of all heads at as many last positions as
    `mask`; `what` is the part of heads that is replaced.
    """
    logits = hooked_logits(model, continued, sets, new_z, mask, what)
    rest = rest_of_rows(continued, logits[:, 1:], ranked=reads_vocabulary(names))
    first = logits[:, 0].unflatten(0, (len(sets), -1, len(continued)))[:, 0].flatten(0, 1)
    values = measure(names, first, targets, rest=rest, of=torch.arange(len(continued)).repeat(len(sets)))
    return values.unflatten(1, (len(sets), len(continued))).transpose(1, 2)


def hooked_logits(
    model: HookedModel,
    continued: Continued,
    sets: Sequence[HeadSet],
    new_z: Callable[[int], Z],
    mask: Bool[Tensor, "prompt pos"],
    what: str = "z",
) -> Float[Tensor, "set_row read d_vocab"]:
    """Logits of that pass where they are read: at the last position of the prompts and those after it."""
    # Where heads share keys and values, one stands for several of them.
    places = [
        tuple(Head(layer, head * new_z(layer).shape[2] // model.n_heads[layer]) for layer, head in heads)
        for heads in (sets if what in ("k", "v") else ())
    ]
    edits = head_edits(places or sets, new_z, mask, continued)
    hooks = {hook_at(layer, what): turned(edit, what) for layer, edit in edits.items()}
    with torch.no_grad():
        return model.forward_last(continued.rows.repeat(len(sets), 1), continued.steps + 1, hooks=hooks)


def turned(edit: Edit, what: str) -> Edit:
    """An edit of `[prompt, pos, head, ...]` as one of the hook's own order."""
    return lambda value: by_position(edit(by_position(value, what)), what)


def head_edits(
    sets: Sequence[HeadSet], new_z: Callable[[int], Z], mask: Bool[Tensor, "prompt pos"], continued: Continued
) -> Mapping[int, Edit]:
    """Layer -> edit of z `[set * row, all_pos, head, d_head]`: in the rows of each set, its heads are replaced."""
    by_layer: dict[int, list[tuple[int, int]]] = {}
    for place, heads in enumerate(sets):
        for layer, head in heads:
            by_layer.setdefault(layer, []).append((place, head))
    row_mask = continued.unpack(mask)
    return {
        layer: _replace(replaced, len(sets), continued.unpack(new_z(layer)), row_mask)
        for layer, replaced in by_layer.items()
    }


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


def rest_of_rows(continued: Continued, logits: Float[Tensor, "run_row step vocab"], *, ranked: bool = True) -> Rest:
    """Rest `[run * prompt]` of logits of one or several runs over rows, at the positions behind the prompts."""
    predicted = continued.predicted
    of_rows = predicted.to(logits.device).expand(len(logits) // len(continued.rows), *predicted.shape)
    flat, size = logits.flatten(0, 1), readouts(logits.shape[-1])

    def score(places: Int[Tensor, " place"], tokens: Int[Tensor, " place"]) -> Scores:
        return logit_scores(lambda part: flat[part].float(), places, tokens, at_a_time=size, ranked=ranked)

    return rest_of_scores(score, of_rows)
