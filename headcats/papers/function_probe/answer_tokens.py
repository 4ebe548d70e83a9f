"""Tokens of answers: which are chosen, where z is taken for them, and what the model makes of them.

Ma et al. average z over the 5 semantically most important tokens of an answer, chosen by a second language model, which
cannot be repeated offline. Here they are the 5 that the model finds least likely: function words are easily guessed,
the words that carry an answer are not. Shorter answers are used whole, as in the paper's code.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from headcats.models.adapter import HookedModel
from headcats.models.hooks import Edit, hook_z
from headcats.prompts.answered import AnsweredBatch

# Texts per forward pass.
CHUNK = 32
_NO_EDITS: Mapping[int, Edit] = MappingProxyType({})


def in_chunks(batches: Sequence[AnsweredBatch]) -> list[AnsweredBatch]:
    """Batches of the same texts, up to `CHUNK` each."""
    return [
        batch.select(range(start, min(start + CHUNK, len(batch))))
        for batch in batches
        for start in range(0, len(batch), CHUNK)
    ]


def chosen_tokens(model: HookedModel, batch: AnsweredBatch, *, top_tokens: int) -> Bool[Tensor, "prompt pos"]:
    """True at the answer tokens to average over: the `top_tokens` least expected, the earlier of equals; 0 for all."""
    if not top_tokens or int(batch.targets.sum(1).max()) <= top_tokens:
        return batch.targets
    log_probs = answer_readings(model, batch).log_prob
    order = torch.where(batch.targets, log_probs, torch.inf).argsort(dim=1, stable=True)
    mask = torch.zeros_like(batch.targets).scatter(1, order[:, :top_tokens], True)
    return mask & batch.targets


def positions_of(tokens: Bool[Tensor, "prompt pos"], *, at: str) -> Bool[Tensor, "prompt pos"]:
    """Where tokens are read: "predicting", one position earlier, where the model predicts each; "answer", at itself."""
    return tokens if at == "answer" else tokens.roll(-1, dims=1)  # no target is first, so nothing comes around


class AnswerReadings(NamedTuple):
    """Readings of a model at the tokens of each answer, on the CPU."""

    log_prob: Float[Tensor, "prompt pos"]
    """Log-probability of each answer token given the text before it, in nats; 0 at other tokens."""
    right: Bool[Tensor, "prompt pos"]
    """True where the answer token has the largest logit of the whole vocabulary, and at other tokens."""


@torch.no_grad()
def answer_readings(
    model: HookedModel, batch: AnsweredBatch, *, edits: Mapping[int, Edit] = _NO_EDITS
) -> AnswerReadings:
    """Read every answer token where it is predicted, one position earlier, in fp32; `edits` act on z by layer."""
    before = positions_of(batch.targets, at="predicting")
    logits = model.forward_at(batch.tokens, before, hooks={hook_z(layer): edit for layer, edit in edits.items()})
    prompt, pos = batch.targets.nonzero(as_tuple=True)
    token_ids = batch.tokens[prompt, pos].to(logits.device)
    log_prob = torch.zeros(batch.targets.shape)
    log_prob[prompt, pos] = logits.log_softmax(1).gather(1, token_ids[:, None])[:, 0].cpu()
    right = torch.ones_like(batch.targets)
    right[prompt, pos] = (logits.argmax(1) == token_ids).cpu()
    return AnswerReadings(log_prob, right)
