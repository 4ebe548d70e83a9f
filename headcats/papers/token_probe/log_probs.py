"""How sure a model was of its answer: logits and log-probabilities of the answer's tokens."""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from jaxtyping import Float, Float32
from torch import Tensor

from headcats.models.adapter import HookedModel
from headcats.models.generation import equal_lengths
from headcats.papers.token_probe.answers import Answer

HELD_BYTES = 1 << 28
"""Logits that are held at once."""
_Values = Float32[np.ndarray, " token"]
QUANTITIES = ("logit", "log_prob", "prob")
# Minimum and maximum of probabilities order answers as those of log-probabilities do.
STATISTICS: dict[str, tuple[str, Callable[[_Values], np.floating]]] = {
    "logit_mean": ("logit", np.mean),
    "logit_min": ("logit", np.min),
    "logit_max": ("logit", np.max),
    "log_prob_mean": ("log_prob", np.mean),
    "log_prob_min": ("log_prob", np.min),
    "log_prob_max": ("log_prob", np.max),
    "prob_mean": ("prob", np.mean),
}
"""Name -> what of the answer's tokens is summarised, and how."""
ON_EXACT = "_exact"
"""Behind the name of a statistic over the tokens of the exact answer alone."""


def confidences(model: HookedModel, answers: Sequence[Answer]) -> dict[str, Float[np.ndarray, " prompt"]]:
    """Every statistic of every answer; larger is surer.

    A token's logit and probability are those with which the model predicts it, at the position before.
    """
    statistics: dict[str, np.ndarray] = {
        name + of: np.full(len(answers), np.nan) for of in ("", ON_EXACT) for name in STATISTICS
    }
    for places in equal_lengths([len(answer.tokens) for answer in answers]):
        longest = max(answers[place].shape.length - answers[place].shape.q_len for place in places)
        size = max(1, HELD_BYTES // (4 * (longest + 1) * model.d_vocab))
        for start in range(0, len(places), size):
            part = places[start : start + size]
            values = token_values(model, [answers[place] for place in part])
            for place, of_answer in zip(part, values, strict=True):
                shape = answers[place].shape
                inside = slice(shape.first - shape.q_len, shape.last + 1 - shape.q_len)
                for name, (quantity, statistic) in STATISTICS.items():
                    statistics[name][place] = statistic(of_answer[quantity])
                    statistics[name + ON_EXACT][place] = statistic(of_answer[quantity][inside])
    return statistics


def token_values(model: HookedModel, answers: Sequence[Answer]) -> list[dict[str, _Values]]:
    """`QUANTITIES` of every token of each answer; the texts are of one length."""
    tokens = torch.tensor([answer.tokens for answer in answers])
    first = min(answer.shape.q_len for answer in answers)
    logits = _logits(model, tokens, last=tokens.shape[1] - first + 1)[:, :-1]
    following = tokens[:, first:, None].to(logits.device)
    logit, log_prob = (values.gather(2, following)[:, :, 0].cpu() for values in (logits, logits.log_softmax(-1)))
    values = []
    for row, answer in enumerate(answers):
        of_row = slice(answer.shape.q_len - first, None)
        of_answer = logit[row, of_row].numpy(), log_prob[row, of_row].numpy(), log_prob[row, of_row].exp().numpy()
        values.append(dict(zip(QUANTITIES, of_answer, strict=True)))
    return values


@torch.no_grad()
def _logits(model: HookedModel, tokens: Tensor, *, last: int) -> Float[Tensor, "text last d_vocab"]:
    return model.forward_last(tokens, last, hooks={})
