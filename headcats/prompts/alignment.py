"""Which token of one prompt belongs to which of the other, where z of one replaces that of the other."""

import itertools
from typing import Any

import torch
from jaxtyping import Bool, Int, Shaped
from torch import Tensor

from headcats.prompts.batch import PromptBatch
from headcats.prompts.batch_checks import UnmatchedPrompts
from headcats.prompts.packing import Side


def aligned_places(
    batch: PromptBatch, mask: Bool[Tensor, "prompt packed"], *, base: Side, source: Side, tokenizer: Any = None
) -> Int[Tensor, "prompt packed"] | None:
    """For each packed position of the base prompts, the position of the source prompts whose z belongs there.

    None where it is the one at the same place from the end. Otherwise tokens of the same role belong together
    (`x1[0/2]` with `x1[0/2]`); where nothing is masked, any place will do. Raises UnmatchedPrompts for a masked token
    whose role the source prompt lacks; the message shows both prompts, as text if there is a tokenizer.
    """
    lengths = [getattr(batch, side).shape[1] for side in (base, source)]
    roles, others = batch.roles_of(base), batch.roles_of(source)
    if not mask[:, : lengths[0] - 1].any() or (lengths[0] == lengths[1] and roles == others):
        return None
    later = torch.arange(mask.shape[1] - lengths[0]) + lengths[1]
    places = torch.zeros(len(batch), mask.shape[1], dtype=torch.long)
    places[:, lengths[0] :] = later
    unmatched: dict[int, int] = {}
    for prompt, masked in enumerate(mask[:, : lengths[0]].tolist()):
        place_of = {role: place for place, role in enumerate(others[prompt])} if batch.labels else {}
        for place in itertools.compress(range(lengths[0]), masked):
            if (role := roles[prompt][place]) in place_of:
                places[prompt, place] = place_of[role]
            else:
                unmatched.setdefault(prompt, place)
    if unmatched:
        prompt, place = next(iter(unmatched.items()))
        shown = [
            f" {side.capitalize()}: {ids if tokenizer is None else tokenizer.decode(ids)!r}."
            for side in (base, source)
            for ids in [getattr(batch, side)[prompt].tolist()]
        ]
        raise UnmatchedPrompts(_problem(batch, prompt, place, (base, source)) + "".join(shown), list(unmatched))
    return places


def at_places(
    packed: Shaped[Tensor, "prompt all_source *rest"], places: Int[Tensor, "prompt packed"] | None, *, width: int
) -> Shaped[Tensor, "prompt width *rest"]:
    """Values of the source prompts at the last `width` packed positions of the base prompts, as `places` tells."""
    if places is None:
        return packed[:, packed.shape[1] - width :]
    index = places[:, places.shape[1] - width :].to(packed.device)
    return packed[torch.arange(len(index), device=packed.device)[:, None], index]


def _problem(batch: PromptBatch, prompt: int, place: int, sides: tuple[Side, Side]) -> str:
    lengths = [getattr(batch, side).shape[1] for side in sides]
    problem = f"they have {lengths[0]} and {lengths[1]} tokens, and no roles to match them by"
    if batch.labels is not None:
        roles = ", ".join(dict.fromkeys(batch.roles_of(sides[1])[prompt]))
        problem = (
            f"token {place} of the {sides[0]} prompt is {batch.roles_of(sides[0])[prompt][place]!r}, and the "
            f"{sides[1]} prompt has no such token (it has {roles})"
        )
    return (
        f"The {sides[0]} and {sides[1]} prompts of {batch.keys[prompt]!r} do not align: {problem}. Use "
        "positions='last' (METHOD@last), which takes any prompts, or a role that has as many tokens in both."
    )
