"""What a model answers by itself: greedy generation through its own forward passes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from headcats.models.adapter import HookedModel

TOKENS_AT_ONCE = 4096
"""Tokens of one forward pass: larger ones are no faster on a CPU and hold more memory."""


@dataclass(frozen=True)
class Generated:
    """A model's continuation of one prompt.

    Attributes:
        tokens: Its tokens, without the one that ended it.
        cut: It was ended by the limit and not by the model.
    """

    tokens: tuple[int, ...]
    cut: bool


class LineEnds:
    """Tells the tokens that end an answer: the end-of-text token, and every token that holds a line break."""

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer
        self._known: dict[int, bool] = {} if tokenizer.eos_token_id is None else {int(tokenizer.eos_token_id): True}

    def __contains__(self, token: int) -> bool:
        if token not in self._known:
            self._known[token] = "\n" in self.tokenizer.decode([token], clean_up_tokenization_spaces=False)
        return self._known[token]


def generate(
    model: HookedModel,
    prompts: Sequence[Sequence[int]],
    *,
    ends: LineEnds,
    limit: int,
    advance: Callable[[float], None] = lambda share: None,
) -> list[Generated]:
    """The most probable token, again and again, until one of `ends`, `limit` tokens or the end of the context.

    Prompts of equal length go through the model together, never padded, and each step runs the whole text: the tokens
    are those of one prompt alone, up to ties within rounding.

    Args:
        model: The model.
        prompts: Token ids; lengths may differ.
        ends: Tokens that end an answer; they are not part of it.
        limit: Most tokens of an answer.
        advance: Called with the share of prompts that is done.
    """
    answers: list[Generated | None] = [None] * len(prompts)
    done = 0
    for group in by_length(prompts):
        length = len(prompts[group[0]])
        most = min(limit, model.n_ctx - length)
        size = max(1, TOKENS_AT_ONCE // (length + 1))
        for start in range(0, len(group), size):
            part = group[start : start + size]
            texts = torch.tensor([list(prompts[place]) for place in part])
            for place, generated in zip(part, _continued(model, texts, ends=ends, most=most), strict=True):
                answers[place] = generated
            done += len(part)
            advance(done / len(prompts))
    return [answer for answer in answers if answer is not None]


def by_length(texts: Sequence[Sequence[int]]) -> list[list[int]]:
    """Places of the texts of each length, shortest first."""
    groups: dict[int, list[int]] = {}
    for place, text in enumerate(texts):
        groups.setdefault(len(text), []).append(place)
    return [groups[length] for length in sorted(groups)]


def _continued(model: HookedModel, texts: torch.Tensor, *, ends: LineEnds, most: int) -> list[Generated]:
    q_len = texts.shape[1]
    answers: list[Generated] = [Generated((), True)] * len(texts)
    going = list(range(len(texts)))
    for _ in range(most):
        next_tokens = model.run(texts, hooks={}).argmax(-1).cpu()
        stopped = [int(token) in ends for token in next_tokens]
        for row, stop in enumerate(stopped):
            if stop:
                answers[going[row]] = Generated(tuple(texts[row, q_len:].tolist()), False)
        unfinished = torch.tensor([row for row, stop in enumerate(stopped) if not stop], dtype=torch.long)
        going = [going[int(row)] for row in unfinished]
        texts = torch.cat([texts[unfinished], next_tokens[unfinished, None]], 1)
        if not going:
            break
    for place, text in zip(going, texts, strict=True):
        answers[place] = Generated(tuple(text[q_len:].tolist()), True)
    return answers
