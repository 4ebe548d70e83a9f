"""Finished prompts from a template: clean and corrupted differ in the words of its fields, which are its roles.

Used by the suites that are no few-shot prompts: `induction`, `ioi`, `greater_than`, `agreement`.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import cycle
from operator import attrgetter
from string import Formatter
from typing import TypeVar

import numpy as np

from headcats.papers.words import distinct
from headcats.prompts.pair import PromptPair, Span

_Case = TypeVar("_Case")


def contrast(
    template: str, clean: Mapping[str, str], changed: Mapping[str, str], *, item: str, answers: tuple[str, str], of: str
) -> PromptPair:
    """A prompt pair from a template with named fields, each of which stands once and is a role."""
    (text, spans), (other, other_spans) = _filled(template, clean), _filled(template, {**clean, **changed})
    return PromptPair(
        key=text,
        item=item,
        clean=text,
        corrupted=other,
        answer=f" {answers[0]}",
        distractor=f" {answers[1]}",
        distractor_task=of,
        roles={role: (span, other_spans[role]) for role, span in spans.items()},
    )


def distinct_prompts(
    n: int, draws: np.random.Generator, *, cases: Sequence[_Case], write: Callable[[_Case], PromptPair]
) -> list[PromptPair]:
    """`n` different prompts, or nearly all if there are fewer; all cases in random order, again and again."""
    turns = cycle(draws.permutation(len(cases)).tolist())
    return distinct(n, lambda: write(cases[next(turns)]), attrgetter("clean"))


def choose(pool: Sequence[_Case], draws: np.random.Generator) -> _Case:
    """One of them."""
    return pool[int(draws.integers(len(pool)))]


def _filled(template: str, words: Mapping[str, str]) -> tuple[str, dict[str, Span]]:
    """The text, and where the word of each field is."""
    text, spans = "", dict[str, Span]()
    for fixed, name, _, _ in Formatter().parse(template):
        text += fixed
        if name is not None:
            spans[name] = Span(len(text), len(text) + len(words[name]))
            text += words[name]
    return text, spans
