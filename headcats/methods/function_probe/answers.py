"""How likely and how right the tokens of an answer are, with head outputs edited on the way."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from headcats.models.adapter import HookedModel
from headcats.models.hooks import Edit, hook_z
from headcats.prompts.answered import AnsweredBatch

_NO_EDITS: Mapping[Any, Edit] = MappingProxyType({})


class AnswerReadings(NamedTuple):
    """What a model makes of the tokens of each answer, on the CPU."""

    log_prob: Float[Tensor, "prompt pos"]
    """Log-probability of each answer token given what stands before it, in nats; 0 at other tokens."""
    right: Bool[Tensor, "prompt pos"]
    """Whether the answer token has the largest logit of the whole vocabulary; True at other tokens."""

    def mean_log_prob(self, batch: AnsweredBatch) -> Float[Tensor, " prompt"]:
        """Mean over the tokens of the answer."""
        return self.log_prob.sum(1) / batch.targets.sum(1)

    def all_right(self) -> Bool[Tensor, " prompt"]:
        """Whether every token of the answer is the model's first choice."""
        return self.right.all(1)


@torch.no_grad()
def answer_readings(
    model: HookedModel, batch: AnsweredBatch, *, edits: Mapping[int, Edit] = _NO_EDITS
) -> AnswerReadings:
    """Read every answer token where it is predicted, one position earlier, in fp32.

    Args:
        model: The model.
        batch: Texts of one length.
        edits: Layer -> function on z, as in `HookedModel.logits`.
    """
    before = batch.targets.roll(-1, dims=1)
    logits = model.forward_at(batch.tokens, before, hooks={hook_z(layer): edit for layer, edit in edits.items()})
    prompt, pos = batch.targets.nonzero(as_tuple=True)
    token_ids = batch.tokens[prompt, pos].to(logits.device)
    log_prob = torch.zeros(batch.targets.shape)
    log_prob[prompt, pos] = logits.log_softmax(1).gather(1, token_ids[:, None])[:, 0].cpu()
    right = torch.ones_like(batch.targets)
    right[prompt, pos] = (logits.argmax(1) == token_ids).cpu()
    return AnswerReadings(log_prob, right)
