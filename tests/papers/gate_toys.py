"""Texts as tokens, and a planted model with heads that help, disturb or do nothing, for the tests of gates."""

from collections.abc import Sequence
from typing import Any

import torch
from planted import FIRST_CONTENT, N_TOKENS, planted_model
from toys import D_VOCAB, random_tokens

from headcats.prompts.answered import AnsweredBatch, AnsweredText
from headcats.prompts.pair import Span

HELPS, DISTURBS = (0, 1), (1, 2)


def token_batch(n: int = 4, n_pos: int = 7, *, seed: int = 0, targets: Sequence[int] = (-1,)) -> AnsweredBatch:
    """Random tokens without text; the targets stand at the same positions in every row."""
    tokens = random_tokens(n, n_pos, seed=seed, d_vocab=D_VOCAB)
    where = torch.zeros(n, n_pos, dtype=torch.bool)
    where[:, list(targets)] = True
    return AnsweredBatch(tokens, where, _without_item(n))


def helping_and_disturbing() -> Any:
    """A planted model in which one head brings the answer from slot 1, and one a wrong token from slot 2; the other six
    do nothing.

    The first is quiet, so that it is needed fully open; the second loud, so that it must be shut.
    """
    model = planted_model({HELPS: 1, DISTURBS: 2})
    with torch.no_grad():
        for layer, block in enumerate(model.blocks):
            projection = block.attn.o.original_component.weight
            for head, rows in enumerate(projection.view(4, -1, projection.shape[1])):
                rows.mul_({HELPS: 0.08, DISTURBS: 0.5}.get((layer, head), 0.01))
    return model


def answered_slots(n: int = 64, *, seed: int = 0) -> AnsweredBatch:
    """Prompts `[bos, slot 1, slot 2, query]` and the token of slot 1 as the answer; slot 2 holds another token."""
    draws = torch.Generator().manual_seed(seed)
    pairs = [FIRST_CONTENT + torch.randperm(N_TOKENS - FIRST_CONTENT, generator=draws)[:2] for _ in range(n)]
    answer, wrong = torch.stack(pairs).T
    tokens = torch.stack([torch.zeros_like(answer), answer, wrong, torch.ones_like(answer), answer], dim=1)
    where = torch.zeros(n, 5, dtype=torch.bool)
    where[:, -1] = True
    return AnsweredBatch(tokens, where, _without_item(n))


def _without_item(n: int) -> tuple[AnsweredText, ...]:
    return (AnsweredText("?", (Span(0, 1),)),) * n
