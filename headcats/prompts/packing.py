"""Prompts with the tokens of their answers behind them, as `Continued` packs them, and masks of all these positions.

`The capital is` with the answer ` New York` and the distractor ` Rio de Janeiro` packs as `The capital is` at 0 1 2,
` New` at 3 (and nothing at 4), ` Rio de` at 5 6: the tokens that predict another one. "last" is 2, where ` New` and
` Rio` are predicted; "answer" is 2, 3, 5 and 6, where ` York`, ` de` and ` Janeiro` are too. From a prompt of two
tokens more, these take their z at 4, 5, 7 and 8.
"""

from typing import Any, Literal

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from headcats.base.errors import DataError
from headcats.models.continued import Continued

Labels = tuple[str, ...]
Side = Literal["clean", "corrupted", "second"]
LATER_TOKEN = "answer"
"""Role of an answer's tokens that predict the next one."""


def whole_answers(first: Int[Tensor, " prompt"], rest: Tensor | None) -> Int[Tensor, "prompt token"]:
    """Token ids of answers, given the first of each and those after it; -1 behind the end of shorter ones."""
    return first[:, None] if rest is None else torch.cat([first[:, None], rest], 1)


def continued_prompts(batch: Any, side: Side) -> Continued:
    """See `PromptBatch.continued`."""
    prompts = getattr(batch, side)
    if batch.answer_rest is None:
        return Continued.alone(prompts)
    both = torch.stack([batch.answers, batch.distractors])
    inputs, predicted = both[..., :-1], both[..., 1:]
    # Behind the end of an answer stands its first token: any id that the model knows.
    return Continued(prompts, torch.where(inputs < 0, both[..., :1], inputs), predicted)


def mask_of(batch: Any, positions: str, *, of: Side) -> Bool[Tensor, "prompt packed"]:
    """See `PromptBatch.positions`."""
    prompts = getattr(batch, of)
    mask = torch.zeros(prompts.shape, dtype=torch.bool)
    later = _predicts_later(batch)
    if positions in ("last", "answer"):
        mask[:, -1] = True
        return torch.cat([mask, later & (positions == "answer")], 1)
    if positions == "all":
        return torch.cat([~mask, later], 1)
    for row, labels in enumerate(batch.roles_of(of)):
        roles = [label.split("[")[0] for label in labels]
        if positions not in roles:
            known = dict.fromkeys(["last", "answer", "all", *roles])
            raise DataError(
                f"The {of} prompt of {batch.keys[row]!r} has no role {positions!r}; it has {', '.join(known)}. "
                "(positions='each' of hc.sweep takes every token on its own.)"
            )
        mask[row] = torch.tensor([role == positions for role in roles])
    return torch.cat([mask, torch.zeros_like(later)], 1)


def is_at_last(batch: Any, mask: Bool[Tensor, "prompt packed"]) -> bool:
    """True if a mask of all packed positions, of either side, holds the last token of the prompts alone."""
    last = mask.shape[1] - _predicts_later(batch).shape[1] - 1
    return not (mask[:, :last].any() or mask[:, last + 1 :].any())


def packed_roles(batch: Any, *, of: Side = "clean") -> tuple[Labels, ...]:
    """The role of every packed position, prompt by prompt; "" behind the end of an answer."""
    return tuple(
        (*labels, *(LATER_TOKEN if is_there else "" for is_there in later))
        for labels, later in zip(batch.roles_of(of), _predicts_later(batch).tolist(), strict=True)
    )


def _predicts_later(batch: Any) -> Bool[Tensor, "prompt later"]:
    """Which packed positions behind a prompt predict a token of its answer or distractor."""
    if batch.answer_rest is None or batch.distractor_rest is None:
        return torch.zeros(len(batch), 0, dtype=torch.bool)
    return torch.cat([batch.answer_rest >= 0, batch.distractor_rest >= 0], 1).cpu()
