"""What gates are fitted to: texts as tokens, and which of them are to be predicted."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Int
from torch import Tensor

from headcats.base.errors import DataError
from headcats.models.adapter import HookedModel
from headcats.prompts.answered import AnsweredBatch, AnsweredText, encode_answered

NextTokenData = Sequence[AnsweredText] | Sequence[AnsweredBatch]
"""Texts with marked targets, or batches of tokens for a model without a tokenizer."""


class Pass(NamedTuple):
    """Texts of one length that go through the model together, and the token that follows each position."""

    tokens: Int[Tensor, "text pos"]
    predicts: Bool[Tensor, "text pos"]
    """True where the next token is a target; at least one per text."""
    following: Int[Tensor, "text pos"]
    order: tuple[int, ...]
    """Places of these among the texts that were asked for, from 0."""


class GateTexts:
    """Texts of any lengths, never padded: `(tokens, targets)`, and `(task, item)` of each.

    `left_out` says in words what was left out.
    """

    def __init__(
        self, rows: Sequence[tuple[Tensor, Tensor]], items: Sequence[tuple[str, str]], left_out: str = ""
    ) -> None:
        self.rows, self.items, self.left_out = tuple(rows), tuple(items), left_out

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def longest(self) -> int:
        """Place of a text of which the most tokens are read."""
        return max(range(len(self)), key=self._read)

    def passes(self, places: Sequence[int], *, at_once: int) -> Iterator[Pass]:
        """The texts at these places, grouped by length, at most `at_once` together; cut after the last target."""
        groups: dict[int, list[int]] = {}
        for number, place in enumerate(places):
            groups.setdefault(self._read(place), []).append(number)
        for length, group in groups.items():
            for start in range(0, len(group), at_once):
                order = tuple(group[start : start + at_once])
                rows = [self.rows[places[number]] for number in order]
                tokens, targets = (torch.stack([row[: length + 1] for row in side]) for side in zip(*rows, strict=True))
                yield Pass(tokens[:, :-1], targets[:, 1:], tokens[:, 1:], order)

    def _read(self, place: int) -> int:
        """Number of tokens before the last target."""
        return int(self.rows[place][1].nonzero()[-1])

    def split(self, share: float, draws: np.random.Generator) -> tuple["GateTexts", "GateTexts"]:
        """Texts to fit, and those of about `share` of the items, held out; a DataError if all ask the same."""
        items = list(dict.fromkeys(self.items))
        if len(items) < 2:
            raise DataError(
                f"Gates need texts of at least two items, one of them held out; got {len(self)} texts of "
                f"{len(items)}. Give more texts, each with its own `item` or without one."
            )
        n_held = min(len(items) - 1, max(1, round(share * len(items))))
        held_out = {items[place] for place in draws.permutation(len(items))[:n_held]}
        fitted = [place for place, item in enumerate(self.items) if item not in held_out]
        tested = [place for place, item in enumerate(self.items) if item in held_out]
        return self.select(fitted), self.select(tested)

    def select(self, places: Sequence[int]) -> "GateTexts":
        """The texts at these places, in this order."""
        return GateTexts([self.rows[place] for place in places], [self.items[place] for place in places])


def gate_texts(model: HookedModel, data: Sequence[Any], *, name: str) -> GateTexts:
    """Data as tokens of a model; `name` is for messages.

    A DataError for data of another kind, no text that the model can take, or unknown token ids; a ModelError for texts
    and a model without a tokenizer.
    """
    data = list(data)
    kinds = {type(text_or_batch) for text_or_batch in data}
    if not data or kinds not in ({AnsweredText}, {AnsweredBatch}):
        got = ", ".join(sorted(kind.__name__ for kind in kinds)) or "nothing"
        raise DataError(f"Data set {name!r} must be a list of AnsweredText, or one of AnsweredBatch; got {got}.")
    left_out = ""
    if kinds == {AnsweredText}:
        data, report = encode_answered(data, model.tokenizer, n_ctx=model.n_ctx)
        left_out = report.summary() if report.dropped else ""
        if not data:
            raise DataError(f"No text of data set {name!r} can be read by model {model.name!r}: {left_out}.")
    rows: list[tuple[Tensor, Tensor]] = []
    items: list[tuple[str, str]] = []
    for batch in data:
        model.check_tokens(batch.tokens)
        rows += zip(batch.tokens.cpu(), batch.targets.cpu(), strict=True)
        for text in batch.texts:
            # A text without an item is an item of its own.
            items.append((text.task, text.item) if text.item else ("", f"text {len(items)}"))
    return GateTexts(rows, items, left_out)
