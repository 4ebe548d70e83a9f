"""Which tokens an answer has after its prompts, and which of them tell it from its distractor."""

from collections.abc import Sequence
from dataclasses import dataclass

UNKNOWN_WORD = "word unknown to the tokenizer"


@dataclass(frozen=True)
class ScoredTokens:
    """The tokens of an answer and its distractor, at least one each; they begin with different ones.

    Attributes:
        shared: Tokens with which both texts begin, which belong to the prompt.
        answer: The tokens of the answer after them.
        distractor: The tokens of the distractor after them.
    """

    shared: tuple[int, ...]
    answer: tuple[int, ...]
    distractor: tuple[int, ...]


class Unscorable(ValueError):
    """An answer that cannot be scored; the message is the reason for which its prompt is dropped."""


def added_tokens(prompt: Sequence[int], continued: Sequence[int], *, unknown: int | None, name: str) -> tuple[int, ...]:
    """The tokens that an answer adds to its prompt: those of prompt and answer as one text, after the prompt's own.

    Unscorable if the answer merges with the end of the prompt, adds nothing, or has an unknown word. `name` is what the
    message calls it: "answer" or "distractor".
    """
    if unknown in continued:
        raise Unscorable(UNKNOWN_WORD)
    if list(continued[: len(prompt)]) != list(prompt):
        raise Unscorable(f"{name} changes the tokens before it")
    if len(continued) == len(prompt):
        raise Unscorable(f"{name} adds no token")
    return tuple(continued[len(prompt) :])


def check_length(tokens: Sequence[int], *, answers: str, name: str) -> None:
    """Unscorable if only answers of one token are scored, and this one has several."""
    if answers == "single" and len(tokens) > 1:
        raise Unscorable(f"{name} of several tokens")


def scored_tokens(answer: tuple[int, ...], distractor: tuple[int, ...], *, answers: str) -> ScoredTokens:
    """Tokens of an answer and its distractor that are scored, of those that each adds to the prompt.

    With "whole", the tokens with which both begin belong to the prompt: a bare `▁` before two digits says nothing of
    either. Unscorable if nothing tells the two apart, or one of them is the beginning of the other: it could never be
    the less likely of the two.

    Example:
        >>> scored_tokens((5, 7, 8), (5, 9), answers="whole")
        ScoredTokens(shared=(5,), answer=(7, 8), distractor=(9,))
        >>> scored_tokens((7, 8), (9,), answers="first_token")
        ScoredTokens(shared=(), answer=(7,), distractor=(9,))
    """
    if answer == distractor:
        raise Unscorable("answer equals distractor after tokenisation")
    check_length(answer, answers=answers, name="answer")
    check_length(distractor, answers=answers, name="distractor")
    if answers == "first_token":
        if answer[0] == distractor[0]:
            raise Unscorable("answer and distractor begin with the same token")
        return ScoredTokens((), answer[:1], distractor[:1])
    shared = 0
    while answer[shared : shared + 1] == distractor[shared : shared + 1]:
        shared += 1
    if shared == len(answer):
        raise Unscorable("answer is the beginning of the distractor")
    if shared == len(distractor):
        raise Unscorable("distractor is the beginning of the answer")
    return ScoredTokens(answer[:shared], answer[shared:], distractor[shared:])
