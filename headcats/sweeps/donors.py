"""Who donates to whom: for every prompt a seeded reference prompt of another task, or of its own with another query."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from jaxtyping import Bool
from torch import Tensor

from headcats.base.errors import DataError
from headcats.prompts.batch import PromptBatch
from headcats.prompts.batch_checks import UnmatchedPrompts
from headcats.prompts.packing import Labels, Side, is_at_last, packed_roles
from headcats.statistics.random_streams import stream

Donors = Literal["another task", "another item"]
"""Donors of z for a prompt: a prompt of another task, or one of the same task with another query."""
Row = tuple[int, int]
"""Number of a reference batch, and of a prompt in it."""

_STREAMS = {"another task": "donors", "another item": "other items"}
# Two parts of the message where there are none.
_DONORS = {
    "another task": ("of another task", "add a task"),
    "another item": ("of the same task with another query", "give more reference prompts of this task"),
}


class UncoveredRoles(UnmatchedPrompts):
    """Some scored prompts have a role that no suitable reference prompt shows often enough."""


def choose_by_role(
    batches: Sequence[PromptBatch],
    roles: Sequence[tuple[Labels, ...]],
    batch: PromptBatch,
    mask: Bool[Tensor, "prompt pos"],
    *,
    seed: int,
    of: Donors,
    side: Side = "clean",
) -> list[Row | None]:
    """A donor for each prompt of a side of `batch`, with all its masked roles (at the last position: any), or None."""
    at_last = is_at_last(batch, mask)
    by_roles: dict[frozenset[str], list[Row]] = {}
    donors: list[Row | None] = []
    for prompt, labels in enumerate(packed_roles(batch, of=side)):
        masked = [] if at_last else mask[prompt].nonzero().flatten().tolist()
        needed = frozenset(labels[place] for place in masked)
        if needed not in by_roles:
            by_roles[needed] = [
                (number, row)
                for number, source in enumerate(batches)
                if (source.task == batch.task) == (of == "another item")
                for row, source_labels in enumerate(roles[number])
                if needed <= set(source_labels)
            ]
            by_roles[needed].sort(key=lambda row: _name(batches, row))
        candidates = by_roles[needed]
        if of == "another item":
            candidates = [(k, row) for k, row in candidates if batches[k].items[row] != batch.items[prompt]]
        draws = stream(seed, batch.task, _STREAMS[of], batch.keys[prompt])
        donors.append(candidates[draws.integers(len(candidates))] if candidates else None)
    return donors


def choose_without_roles(
    batches: Sequence[PromptBatch], batch: PromptBatch, *, own: bool, seed: int, of: Donors
) -> list[Row | None]:
    """A donor for each prompt of `batch`, with another query or of another task; None where there is none.

    With `own`, prompts of the batch are donors of one another. Prompts of a script, which have no task, take any.
    """
    rows = [(number, row) for number, source in enumerate(batches) for row in range(len(source))]
    if own and of != "another item":
        return [rows[place] for place in _derangement(len(batch), stream(seed, batch.task, _STREAMS[of]))]
    rows.sort(key=lambda row: _name(batches, row))
    draws = [stream(seed, batch.task, _STREAMS[of], key) for key in batch.keys]
    if of == "another item":
        items = np.array([batches[number].items[row] for number, row in rows])
        others = [np.flatnonzero(items != item) for item in batch.items]
        chosen = zip(others, draws, strict=True)
        return [rows[places[of_prompt.integers(len(places))]] if len(places) else None for places, of_prompt in chosen]
    rows = [(number, row) for number, row in rows if not batch.task or batches[number].task != batch.task]
    if not rows:
        return [None] * len(batch)
    return [rows[of_prompt.integers(len(rows))] for of_prompt in draws]


def _name(batches: Sequence[PromptBatch], row: Row) -> tuple[str, str]:
    """Task and key of a reference prompt, by which it is the same in batches of other lengths."""
    return batches[row[0]].task, batches[row[0]].keys[row[1]]


def all_covered(batch: PromptBatch, chosen: Sequence[Row | None], of: Donors, *, roles: bool) -> list[Row]:
    """The donors of all prompts; UncoveredRoles if some have none, for lack of the same `roles` or of any prompt."""
    if uncovered := [prompt for prompt, donor in enumerate(chosen) if donor is None]:
        whose, advice = _DONORS[of]
        lacking = f"no reference prompt {whose} " + ("has the same token roles" if roles else "is there")
        raise UncoveredRoles(
            f"{batch.keys[uncovered[0]]!r}: {lacking} ({len(uncovered)} of {len(batch)} prompts). "
            + (f"Use positions='last', or {advice}." if roles else f"{advice.capitalize()}."),
            uncovered,
        )
    return [donor for donor in chosen if donor is not None]


def same_role(roles: Labels, place: int, donor_roles: Labels, *, step: int) -> int:
    """Where a donor has the role of a place; of later tokens of an answer, the same one or its last."""
    places = [n for n, role in enumerate(donor_roles) if role == roles[place]]
    return places[min(step, len(places) - 1)]


def _derangement(n: int, draws: np.random.Generator) -> list[int]:
    if n < 2:
        raise DataError("Resampling within a batch needs at least 2 prompts.")
    shift = int(draws.integers(1, n))
    order = draws.permutation(n).tolist()
    place = {prompt: number for number, prompt in enumerate(order)}
    return [order[(place[prompt] + shift) % n] for prompt in range(n)]
