"""The later tokens of answers, read from residual streams or logits where a forward pass left them."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from headcats.metrics.rest import NO_REST, Rest, Scores, later_scores, logit_scores
from headcats.models.continued import Continued
from headcats.models.replay.recording import Recording
from headcats.sweeps.memory import readouts

_ROWS = 2048
"""Residual streams whose log-probabilities are read together."""


def rest_of_residual(
    recording: Recording, residual: Float[Tensor, "prompt set later d_model"], *, ranked: bool = True
) -> Rest:
    """Rest `[prompt * set]` of residual streams after the last block, at the positions behind the prompts.

    Logits over the whole vocabulary are needed there, for a probability and not a difference of two logits.
    """
    predicted = recording.continued.predicted
    if not len(predicted):
        return NO_REST
    of_prompts = predicted.transpose(0, 1).to(residual.device)  # [prompt, branch, step]
    of_rows = of_prompts.repeat_interleave(residual.shape[1], 0)
    flat = residual.flatten(0, 2)
    size = readouts(recording.logits.shape[1])

    def score(places: Int[Tensor, " place"], tokens: Int[Tensor, " place"]) -> Scores:
        if not ranked and recording.reads_parts:
            parts = zip(places.split(_ROWS), tokens.split(_ROWS), strict=True)
            log_probs = torch.cat([recording.log_probs(flat[part], of_part) for part, of_part in parts])
            return log_probs, torch.zeros_like(log_probs)
        return logit_scores(lambda part: recording.read(flat[part]), places, tokens, at_a_time=size, ranked=ranked)

    log_prob, rank = later_scores(score, of_rows)
    return Rest(log_prob[:, 0], log_prob[:, 1], rank[:, 0])


def rest_of_rows(continued: Continued, logits: Float[Tensor, "run_row step vocab"], *, ranked: bool = True) -> Rest:
    """Rest `[run * prompt]` of logits of one or several runs over rows, at the positions behind the prompts."""
    predicted = continued.predicted
    if not len(predicted):
        return NO_REST
    of_rows = predicted.to(logits.device).expand(len(logits) // len(continued.rows), *predicted.shape)
    flat, size = logits.flatten(0, 1), readouts(logits.shape[-1])

    def score(places: Int[Tensor, " place"], tokens: Int[Tensor, " place"]) -> Scores:
        return logit_scores(lambda part: flat[part].float(), places, tokens, at_a_time=size, ranked=ranked)

    log_prob, rank = later_scores(score, of_rows)
    return Rest(log_prob[:, 0].flatten(), log_prob[:, 1].flatten(), rank[:, 0].flatten())
