"""What makes a batch of prompts meaningless: shapes that do not match, answers that begin alike, unknown tokens."""

from collections.abc import Sequence
from typing import Any

from headcats.base.errors import DataError
from headcats.models.adapter import HookedModel


class UnmatchedPrompts(DataError):
    """Some prompts of a batch, by place, have no counterpart where z comes from; the others can be swept alone."""

    def __init__(self, message: str, prompts: Sequence[int]) -> None:
        super().__init__(message)
        self.prompts = tuple(prompts)


def check_batch(batch: Any) -> None:
    """Raise a DataError for the first problem of what is to be a `PromptBatch`."""
    shape = tuple(batch.clean.shape)
    if batch.clean.ndim != 2 or 0 in shape:
        raise DataError(f"clean tokens must be [prompt, pos] with at least one prompt and one token; got {shape}.")
    if (batch.second is None) != (batch.second_tasks is None):
        raise DataError("second and second_tasks belong together: give both, or neither.")
    for name in ("corrupted", "second"):
        tokens = getattr(batch, name)
        if tokens is not None and (tokens.ndim != 2 or len(tokens) != shape[0] or not tokens.shape[1]):
            raise DataError(
                f"{name} prompts must be [prompt, pos], as many as the clean ones, {shape[0]}; got "
                f"{tuple(tokens.shape)}. Group prompts by length instead of padding."
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
    for name in ("keys", "items", "distractor_tasks", "labels", "corrupted_labels", "second_tasks", "second_labels"):
        value = getattr(batch, name)
        if value is not None and len(value) != shape[0]:
            raise DataError(f"{name} must hold one entry per prompt: {shape[0]} prompts, {len(value)} entries.")
    same = (batch.answer == batch.distractor).nonzero().flatten().tolist()
    if same:
        raise DataError(
            f"{batch.keys[same[0]]!r}: answer and distractor begin with the same token {int(batch.answer[same[0]])} "
            f"({len(same)} of {shape[0]} prompts). Tokens with which both begin belong to the end of the prompts."
        )


def check_fits(batch: Any, model: HookedModel) -> None:
    """Raise a DataError for a `PromptBatch` with prompts or answers that the model cannot take."""
    for side in ("clean", "corrupted") if batch.second is None else ("clean", "corrupted", "second"):
        try:
            model.check_tokens(batch.continued(side).rows)
        except DataError as error:
            raise DataError(f"The {side} prompts: {error}") from None
    for name, ids in (("answer", batch.answers), ("distractor", batch.distractors)):
        wrong = ((ids < -1) | (ids >= model.d_vocab) | (ids[:, :1] < 0)).any(1).nonzero().flatten().tolist()
        if wrong:
            raise DataError(
                f"{batch.keys[wrong[0]]!r}: {name} ids {ids[wrong[0]].tolist()} are not all in the vocabulary of "
                f"{model.name!r} (0 to {model.d_vocab - 1}); {len(wrong)} of {len(batch)} prompts."
            )
