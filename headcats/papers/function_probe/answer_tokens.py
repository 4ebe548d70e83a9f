"""Tokens of answers: which are chosen, and where z is taken for them.

Ma et al. average z over the 5 semantically most important tokens of an answer, chosen by a second language model, which
cannot be repeated offline. Here they are the 5 that the model finds least likely: function words are easily guessed,
the words that carry an answer are not. Shorter answers are used whole, as in the paper's code.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from headcats.models.adapter import HookedModel
from headcats.prompts.answered import AnsweredBatch

# Texts per forward pass.
CHUNK = 32


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
    order = torch.where(batch.targets, _log_probs(model, batch), torch.inf).argsort(dim=1, stable=True)
    mask = torch.zeros_like(batch.targets).scatter(1, order[:, :top_tokens], True)
    return mask & batch.targets


def positions_of(tokens: Bool[Tensor, "prompt pos"], *, at: str) -> Bool[Tensor, "prompt pos"]:
    """Where tokens are read: "predicting", one position earlier, where the model predicts each; "answer", at itself."""
    return tokens if at == "answer" else tokens.roll(-1, dims=1)  # no target is first, so nothing comes around


@torch.no_grad()
def _log_probs(model: HookedModel, batch: AnsweredBatch) -> Float[Tensor, "prompt pos"]:
    """Log-probability of each answer token given the text before it, in nats, in fp32; 0 at other tokens."""
    before = positions_of(batch.targets, at="predicting")
    logits = model.forward_at(batch.tokens, before, hooks={})
    prompt, pos = batch.targets.nonzero(as_tuple=True)
    token_ids = batch.tokens[prompt, pos].to(logits.device)
    log_prob = torch.zeros(batch.targets.shape)
    log_prob[prompt, pos] = logits.log_softmax(1).gather(1, token_ids[:, None])[:, 0].cpu()
    return log_prob
