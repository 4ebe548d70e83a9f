"""Choose the reference prompt whose head outputs replace those of a scored prompt."""

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
import torch
from jaxtyping import Bool, Int
from torch import Tensor

from headcats.errors import DataError
from headcats.prompts.batch import Labels, PromptBatch
from headcats.statistics.random_streams import stream

Donors = Literal["another task", "another item"]
"""Whose z replaces that of a prompt: a prompt of another task, or one of the same task with another query."""

_STREAMS = {"another task": "donors", "another item": "other items"}
_WHOSE = {"another task": "of another task", "another item": "of the same task with another query"}
_INSTEAD = {
    "another task": "add a task with inputs of the same length",
    "another item": "give more reference prompts of this task",
}


class UncoveredRoles(DataError):
    """Some scored prompts have a token role that no suitable reference prompt shows (often enough).

    Attributes:
        prompts: Their places in the batch.
    """

    def __init__(self, message: str, prompts: Sequence[int]) -> None:
        super().__init__(message)
        self.prompts = tuple(prompts)


def choose_by_role(
    batches: Sequence[PromptBatch],
    labels_of: Callable[[PromptBatch], tuple[Labels, ...]],
    batch: PromptBatch,
    mask: Bool[Tensor, "prompt pos"],
    *,
    seed: int,
    of: Donors,
) -> list[tuple[int, int]]:
    """A seeded donor (number of its batch, row) for each prompt of `batch`, among those with all its masked roles.

    A prompt's donor does not depend on the prompts after it.

    Raises:
        UncoveredRoles: A prompt has none; the message names it.
    """
    assert batch.labels is not None
    by_roles: dict[frozenset[str], list[tuple[int, int]]] = {}
    draws = stream(seed, batch.task, _STREAMS[of])
    donors: list[tuple[int, int]] = []
    uncovered: list[int] = []
    for prompt, labels in enumerate(batch.labels):
        needed = frozenset(labels[place] for place in mask[prompt].nonzero().flatten().tolist())
        if needed not in by_roles:
            by_roles[needed] = [
                (number, row)
                for number, source in enumerate(batches)
                if (source.task == batch.task) == (of == "another item")
                for row, source_labels in enumerate(labels_of(source))
                if needed <= set(source_labels)
            ]
        candidates = by_roles[needed]
        if of == "another item":
            item = batch.items[prompt]
            candidates = [(number, row) for number, row in candidates if batches[number].items[row] != item]
        if candidates:
            donors.append(candidates[draws.integers(len(candidates))])
        else:
            uncovered.append(prompt)
    _check_covered(batch, uncovered, of)
    return donors


def choose_by_index(
    tokens: Int[Tensor, "donor pos"], items: Sequence[str], batch: PromptBatch, *, seed: int, of: Donors
) -> Int[Tensor, "prompt pos"]:
    """Tokens of a seeded donor for each prompt of `batch`: one with another query, or any; the batch's own prompts are
    donors of one another, none of itself.

    Raises:
        UncoveredRoles: All donors have the query of a prompt.
        DataError: A batch of one prompt has no other.
    """
    draws = stream(seed, batch.task, _STREAMS[of])
    if of == "another item":
        words = np.array(items)
        candidates = [np.flatnonzero(words != item) for item in batch.items]
        _check_covered(batch, [prompt for prompt, rows in enumerate(candidates) if not len(rows)], of)
        return tokens[torch.tensor([int(rows[draws.integers(len(rows))]) for rows in candidates])]
    if torch.equal(tokens, batch.clean):
        return tokens[_derangement(len(batch), draws)]
    return tokens[torch.from_numpy(draws.integers(len(tokens), size=len(batch)))]


def _check_covered(batch: PromptBatch, uncovered: list[int], of: Donors) -> None:
    if uncovered:
        raise UncoveredRoles(
            f"{batch.keys[uncovered[0]]!r}: no reference prompt {_WHOSE[of]} has the same token roles "
            f"({len(uncovered)} of {len(batch)} prompts). Use positions='last', or {_INSTEAD[of]}.",
            uncovered,
        )


def _derangement(n: int, draws: np.random.Generator) -> list[int]:
    if n < 2:
        raise DataError("Resampling within a batch needs at least 2 prompts.")
    shift = int(draws.integers(1, n))
    order = draws.permutation(n).tolist()
    place = {prompt: number for number, prompt in enumerate(order)}
    return [order[(place[prompt] + shift) % n] for prompt in range(n)]
