"""Example prompts of a task: what heads attend to in the clean and in the corrupted one, and what the model says."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from torch import Tensor

from headcats.models.adapter import HookedModel
from headcats.models.head import Head
from headcats.models.patterns import head_patterns
from headcats.prompts.batch import PromptBatch
from headcats.results.visible import with_visible_ends
from headcats.sweeps.runs import BaseRuns

# Prompts that are looked through for one that the model answers rightly.
_LOOKED_AT = 16
# A head that looks at everything alike is to look pale.
_LEAST_DARKEST = 0.2


@dataclass(frozen=True, eq=False)
class Side:
    """The clean or the corrupted prompt of a pair; `says` is the most likely next token, with probability `p`."""

    text: str
    tokens: tuple[str, ...]
    roles: tuple[str, ...]
    says: str
    p: float
    patterns: Mapping[Head, Float[np.ndarray, "pos pos"]]


@dataclass(frozen=True, eq=False)
class Example:
    """A clean prompt and its corrupted twin; `right`: whether the model answers the clean one."""

    task: str
    item: str
    distractor_task: str
    answer: str
    distractor: str
    right: bool
    clean: Side
    corrupted: Side

    def darkest(self, head: Head) -> float:
        """The weight that pictures of a head give their full colour."""
        # Not the largest of all: the first token can look at nothing but itself, with weight 1.
        return max(_LEAST_DARKEST, *(float(side.patterns[head][-1].max()) for side in (self.clean, self.corrupted)))


def examples(model: HookedModel, batches: Sequence[PromptBatch], heads: Sequence[Head], *, n: int) -> list[Example]:
    """Return the first prompts of a task that the model answers rightly, and others if these are too few."""
    largest = max(batches, key=len)
    batch = largest.select(range(min(_LOOKED_AT, len(largest))))
    answered = enumerate(_answered_rightly(model, batch))
    right = list(itertools.islice((place for place, is_right in answered if is_right), n))
    wrong = [place for place in range(len(batch)) if place not in right]
    return [_example(model, batch, place, heads, right=place in right) for place in [*right, *wrong][:n]]


def spread(n: int, tasks: Sequence[str]) -> dict[str, int]:
    """Share `n` prompts out: as many from each task, one more from the first ones."""
    per_task, more = divmod(n, len(tasks))
    numbers = {task: per_task + (place < more) for place, task in enumerate(tasks)}
    return {task: number for task, number in numbers.items() if number}


def _answered_rightly(model: HookedModel, batch: PromptBatch) -> Iterator[bool]:
    """Prompt by prompt; later ones are not run when nobody asks for them."""
    for part in batch.in_parts():
        runs = BaseRuns(model, part)
        yield from (runs.measured(("accuracy",), runs.clean)[0] == 1).tolist()


def _example(model: HookedModel, batch: PromptBatch, place: int, heads: Sequence[Head], *, right: bool) -> Example:
    # One after the other: the two prompts may differ in length.
    sides = []
    for tokens, roles in ((batch.clean, batch.roles_of("clean")), (batch.corrupted, batch.roles_of("corrupted"))):
        logits, patterns = head_patterns(model, tokens[place : place + 1], heads)
        of_heads = {head: pattern[0].numpy() for head, pattern in patterns.items()}
        sides.append(_side(model.tokenizer, tokens[place], roles[place], logits[0], of_heads))
    clean, corrupted = sides
    return Example(
        task=batch.task,
        item=batch.items[place],
        distractor_task=batch.distractor_tasks[place],
        answer=token_text(model.tokenizer, *batch.answers[place].tolist()),
        distractor=token_text(model.tokenizer, *batch.distractors[place].tolist()),
        right=right,
        clean=clean,
        corrupted=corrupted,
    )


def _side(
    tokenizer: Any,
    ids: Int[Tensor, " pos"],
    roles: tuple[str, ...],
    logits: Float[Tensor, " d_vocab"],
    patterns: Mapping[Head, np.ndarray],
) -> Side:
    p, predicted = logits.softmax(-1).max(-1)
    return Side(
        text=str(tokenizer.decode(ids.tolist(), clean_up_tokenization_spaces=False)),
        tokens=tuple(token_text(tokenizer, token) for token in ids.tolist()),
        roles=roles,
        says=token_text(tokenizer, int(predicted)),
        p=float(p),
        patterns=patterns,
    )


def token_text(tokenizer: Any, *tokens: int) -> str:
    """Function from token ids to text; -1 stands behind the end of an answer."""
    ids = [token for token in tokens if token >= 0]
    text = str(tokenizer.decode(ids, clean_up_tokenization_spaces=False))
    return with_visible_ends(text) or f"(token {ids[0]})"
