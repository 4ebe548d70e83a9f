"""A model's own greedy continuations of prompts of different length, in batches of one length."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch

from headcats.models.adapter import HookedModel

TOKENS_AT_ONCE = 4096
"""Tokens of one forward pass: larger ones are no faster on a CPU and hold more memory."""


@dataclass(frozen=True)
class Generated:
    """A continuation of one prompt, and the token that ended it; `cut` if the limit ended it, not the model."""

    tokens: tuple[int, ...]
    cut: bool
    stop: int | None = None


LineEnds = Callable[[int], bool]
"""Test for tokens that end an answer."""


def line_ends(tokenizer: Any) -> LineEnds:
    """Answers end at the end-of-text token, and at every token that holds a line break."""

    @cache
    def ends(token: int) -> bool:
        return token == tokenizer.eos_token_id or "\n" in tokenizer.decode([token], clean_up_tokenization_spaces=False)

    return ends


def generate(
    model: HookedModel,
    prompts: Sequence[Sequence[int]],
    *,
    ends: LineEnds,
    limit: int,
    advance: Callable[[float], None] = lambda share: None,
) -> list[Generated]:
    """The most probable token, again and again, until one of `ends`, `limit` tokens or the end of the context.

    Prompts of equal length run together, never padded: the tokens are those of the prompt alone, up to ties in
    rounding.
    """
    answers: dict[int, Generated] = {}
    for part in equal_lengths([len(prompt) + 1 for prompt in prompts]):
        texts = torch.tensor([list(prompts[place]) for place in part])
        answers |= zip(part, _continuations(model, texts, ends=ends, limit=limit), strict=True)
        advance(len(answers) / len(prompts))
    return [answers[place] for place in range(len(prompts))]


def equal_lengths(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Places of texts of one length, the shortest first, up to `TOKENS_AT_ONCE` tokens at a time."""
    places: dict[int, list[int]] = {}
    for place, length in enumerate(lengths):
        places.setdefault(length, []).append(place)
    for length in sorted(places):
        size = max(1, TOKENS_AT_ONCE // length)
        yield from (places[length][start : start + size] for start in range(0, len(places[length]), size))


def _continuations(model: HookedModel, texts: torch.Tensor, *, ends: LineEnds, limit: int) -> list[Generated]:
    q_len = texts.shape[1]
    answers = [Generated((), True)] * len(texts)
    unfinished = list(range(len(texts)))
    for _ in range(min(limit, model.n_ctx - q_len)):
        next_tokens = model.run(texts, hooks={}).argmax(-1).cpu()
        stops = [ends(token) for token in next_tokens.tolist()]
        for place, text, token, stop in zip(unfinished, texts.tolist(), next_tokens.tolist(), stops, strict=True):
            answers[place] = Generated(tuple(text[q_len:]), False, token) if stop else answers[place]
        rows = torch.tensor([row for row, stop in enumerate(stops) if not stop], dtype=torch.long)
        unfinished = [unfinished[row] for row in rows.tolist()]
        texts = torch.cat([texts[rows], next_tokens[rows, None]], 1)
        if not unfinished:
            break
    for place, text in zip(unfinished, texts.tolist(), strict=True):
        answers[place] = Generated(tuple(text[q_len:]), True)
    return answers
