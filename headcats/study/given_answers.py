"""What a model says in place of the answers that a task expects."""

from collections.abc import Sequence
from itertools import islice

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from headcats.models.adapter import HookedModel
from headcats.prompts.batch import PromptBatch
from headcats.prompts.template import has_query
from headcats.results.records import GivenAnswer

SHOWN = 3
"""Prompts of a task."""
_END_OF_PROMPT = 40
"""Characters."""


def given_answers(
    model: HookedModel, batches: Sequence[PromptBatch], accuracy: Float[np.ndarray, " prompt"]
) -> tuple[GivenAnswer, ...]:
    """The greedy continuations, as many tokens as the answers have, of the first prompts with a wrong one.

    Those are prompts of `accuracy` 0, each of another query item.
    """
    prompts = [(batch, row) for batch in batches for row in range(len(batch))]
    wrong: dict[str, tuple[PromptBatch, int]] = {}
    for (batch, row), right in zip(prompts, accuracy, strict=True):
        if not right:
            wrong.setdefault(batch.items[row], (batch, row))
    return tuple(_given_answer(model, *prompt) for prompt in islice(wrong.values(), SHOWN))


def _given_answer(model: HookedModel, batch: PromptBatch, row: int) -> GivenAnswer:
    tokenizer, prompt = model.text_tokenizer, batch.clean[row]
    answer = [token for token in batch.answers[row].tolist() if token >= 0]
    given = tokenizer.decode(_continuation(model, prompt, n=len(answer)))
    end = tokenizer.decode(prompt, skip_special_tokens=True).rstrip(" ")[-_END_OF_PROMPT:]
    shown = batch.items[row] if has_query(batch.roles[row]) else end
    return GivenAnswer(shown, tokenizer.decode(answer), given)


def _continuation(model: HookedModel, prompt: Tensor, *, n: int) -> list[int]:
    """The `n` most likely tokens, one after the other; fewer at the end of the text or of the context."""
    tokens, start = prompt[None], len(prompt)
    while tokens.shape[1] < min(start + n, model.n_ctx):
        token = int(model.logits(tokens)[0].argmax())
        if token == model.text_tokenizer.eos_token_id:
            break
        tokens = torch.cat([tokens, torch.tensor([[token]])], 1)
    return tokens[0, start:].tolist()
