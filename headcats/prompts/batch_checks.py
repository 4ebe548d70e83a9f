"""What makes a batch of prompts meaningless: shapes that do not match, and answers that begin alike."""

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING

from headcats.errors import DataError

if TYPE_CHECKING:
    from headcats.prompts.batch import PromptBatch


def check_batch(batch: "PromptBatch") -> None:
    """Raise a DataError for the first that is found."""
    shape = tuple(batch.clean.shape)
    if batch.clean.ndim != 2 or 0 in shape:
        raise DataError(f"clean tokens must be [prompt, pos] with at least one prompt and one token; got {shape}.")
    if (batch.second is None) != (batch.second_tasks is None):
        raise DataError("second and second_tasks belong together: give both, or neither.")
    if batch.corrupted.ndim != 2 or len(batch.corrupted) != shape[0] or not batch.corrupted.shape[1]:
        raise DataError(
            f"corrupted prompts must be [prompt, pos], as many as the clean ones, {shape[0]}; got "
            f"{tuple(batch.corrupted.shape)}. Group prompts by length instead of padding."
        )
    if batch.second is not None and batch.second.shape != batch.corrupted.shape:
        raise DataError(
            f"second prompts must have the shape [prompt, pos] of the corrupted ones, {tuple(batch.corrupted.shape)}; "
            f"got {tuple(batch.second.shape)}."
        )
    if (batch.answer_rest is None) != (batch.distractor_rest is None):
        raise DataError("answer_rest and distractor_rest belong together: give both, or neither.")
    if batch.answer_rest is not None and batch.distractor_rest is not None:
        shapes = [tuple(rest.shape) for rest in (batch.answer_rest, batch.distractor_rest)]
        if shapes[0] != shapes[1] or len(shapes[0]) != 2 or shapes[0][0] != shape[0] or not shapes[0][1]:
            raise DataError(
                f"answer_rest and distractor_rest must both be [prompt, rest] of {shape[0]} prompts; got {shapes[0]} "
                f"and {shapes[1]}."
            )
    for name in ("answer", "distractor"):
        if (actual := tuple(getattr(batch, name).shape)) != shape[:1]:
            raise DataError(f"{name} must hold one id per prompt [{shape[0]}]; got {actual}.")
    for name in ("keys", "items", "distractor_tasks", "labels", "corrupted_labels", "second_tasks"):
        value = getattr(batch, name)
        if value is not None and len(value) != shape[0]:
            raise DataError(f"{name} must hold one entry per prompt: {shape[0]} prompts, {len(value)} entries.")
    same = (batch.answer == batch.distractor).nonzero().flatten().tolist()
    if same:
        raise DataError(
            f"{batch.keys[same[0]]!r}: answer and distractor begin with the same token {int(batch.answer[same[0]])} "
            f"({len(same)} of {shape[0]} prompts). Tokens with which both begin belong to the end of the prompts."
        )


def misaligned_message(batch: "PromptBatch", positions: str, keys: Sequence[str]) -> str:
    """Which of the prompts `keys` does not align, and where first."""
    row = batch.keys.index(keys[0])
    clean, corrupted = (() if labels is None else labels[row] for labels in (batch.labels, batch.corrupted_labels))
    both = enumerate(itertools.zip_longest(clean, corrupted, fillvalue="nothing"))
    place, roles = next(((place, pair) for place, pair in both if pair[0] != pair[1]), (0, ()))
    where = "at token {} the clean prompt has {!r} and the corrupted one {!r}; ".format(place, *roles) if roles else ""
    lengths = batch.length, batch.corrupted.shape[1]
    if lengths[0] != lengths[1]:
        where += "they have {} and {} tokens; ".format(*lengths)
    return (
        f"Positions {positions!r} need clean and corrupted prompts that align token by token, and {keys[0]!r} does "
        f"not ({len(keys)} of {len(batch)} prompts): {where.removesuffix('; ')}. Use positions='last' (METHOD@last), "
        "or leave these prompts out."
    )
