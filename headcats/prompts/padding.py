"""Prompts of several lengths in one batch, for sweeps that change nothing before the last position.

A tokenizer that cuts words into pieces gives almost every prompt a length of its own, and a sweep of one prompt at a
time leaves most of a machine idle. So shorter prompts get places in front that the model does not see (`PADDING`).
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from headcats.models.continued import PADDING
from headcats.prompts.batch import PromptBatch
from headcats.prompts.packing import Side

# Of positions: what is computed at those in front of shorter prompts is wasted.
_MOST_LONGER = 1.25
# Of a row: a token behind the prompt is computed for every prompt of a batch.
_MOST_WIDER = 1.5


def padded_together(batches: Sequence[PromptBatch], *, n_ctx: float = math.inf) -> tuple[PromptBatch, ...]:
    """Batches of the same prompts, in another order, as few as waste little: answers and prompts of similar length.

    None has a prompt and an answer that together are longer than `n_ctx` tokens.
    """
    kinds: dict[tuple[bool, bool], list[PromptBatch]] = defaultdict(list)
    for batch in batches:
        kinds[batch.labels is None, batch.second is None].append(batch)
    return tuple(
        _joined(part)
        for kind in kinds.values()
        for group in _similar(kind, lambda batch: 1 + 2 * batch.steps, most=_MOST_WIDER)
        for part in _similar(group, lambda batch: batch.length, most=_MOST_LONGER, n_ctx=n_ctx)
    )


def keys_of(batches: Sequence[PromptBatch]) -> list[str]:
    """Names of all prompts of some batches, one after the other."""
    return [key for batch in batches for key in batch.keys]


def in_order(keys: Sequence[str], wanted: Sequence[str]) -> list[int]:
    """Places of `keys`, which differ, in the order in which `wanted` names them."""
    place = {key: number for number, key in enumerate(wanted)}
    return sorted(range(len(keys)), key=lambda number: place[keys[number]])


def _similar(
    batches: Sequence[PromptBatch], size: Callable[[PromptBatch], int], *, most: float, n_ctx: float = math.inf
) -> Iterator[list[PromptBatch]]:
    """Batches of which the largest is at most so many times the smallest."""
    part: list[PromptBatch] = []
    for batch in sorted(batches, key=size):
        if part and (size(batch) > most * size(part[0]) or _row([*part, batch]) > n_ctx):
            yield part
            part = []
        part.append(batch)
    yield part


def _row(batches: Sequence[PromptBatch]) -> int:
    """Tokens of a row of these batches together."""
    sides = [getattr(batch, side) for batch in batches for side in ("clean", "corrupted", "second")]
    return max(side.shape[1] for side in sides if side is not None) + max(batch.steps for batch in batches)


def _joined(batches: Sequence[PromptBatch]) -> PromptBatch:
    if len(batches) == 1:
        return batches[0]
    values: dict[str, Any] = {"task": batches[0].task}
    for name in ("clean", "corrupted", "second"):
        values[name] = _stacked([getattr(batch, name) for batch in batches], PADDING, in_front=True)
    for name in ("answer", "distractor"):
        values[name] = torch.cat([getattr(batch, name) for batch in batches])
    if any(batch.steps for batch in batches):
        for name in ("answers", "distractors"):
            whole = _stacked([getattr(batch, name) for batch in batches], -1, in_front=False)
            assert whole is not None
            values[f"{name.removesuffix('s')}_rest"] = whole[:, 1:]
    for name in ("keys", "items", "distractor_tasks", "second_tasks"):
        if getattr(batches[0], name) is not None:
            values[name] = tuple(word for batch in batches for word in getattr(batch, name))
    roles: tuple[tuple[Side, str], ...] = (
        ("clean", "labels"),
        ("corrupted", "corrupted_labels"),
        ("second", "second_labels"),
    )
    for side, name in roles:
        tokens = values[side]
        if batches[0].labels is not None and tokens is not None:
            of_prompts = (labels for batch in batches for labels in batch.roles_of(side))
            values[name] = tuple(("",) * (tokens.shape[1] - len(labels)) + labels for labels in of_prompts)
    return PromptBatch(**values)


def _stacked(parts: Sequence[Tensor | None], filling: int, *, in_front: bool) -> Tensor | None:
    """Rows of several widths, filled up; None if there are none."""
    rows = [part for part in parts if part is not None]
    if not rows:
        return None
    width = max(part.shape[1] for part in rows)
    filled = rows[0].new_full((sum(map(len, rows)), width), filling)
    start = 0
    for part in rows:
        columns = slice(width - part.shape[1], width) if in_front else slice(part.shape[1])
        filled[start : start + len(part), columns] = part
        start += len(part)
    return filled
