"""What gates are fitted to: texts as tokens, and which tokens of them are to be predicted."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Int
from torch import Tensor

from headcats.errors import DataError
from headcats.models.adapter import HookedModel
from headcats.prompts.answered import AnsweredBatch, AnsweredText, encode_answered

NextTokenData = Sequence[AnsweredText] | Sequence[AnsweredBatch]
"""Texts with marked targets, or batches of tokens for a model without a tokenizer."""


@dataclass(frozen=True)
class Pass:
    """Texts of one length that go through the model together.

    Attributes:
        tokens: Token ids.
        predicts: True where the next token is a target; at least one per text.
        following: The token after each position.
    """

    tokens: Int[Tensor, "text pos"]
    predicts: Bool[Tensor, "text pos"]
    following: Int[Tensor, "text pos"]


class GateTexts:
    """Texts of any lengths, never padded.

    Attributes:
        rows: Per text `(tokens, targets)`, one axis each.
        items: What each text asks; texts of one item are held out together.
        left_out: What could not be encoded, in words, or "".
    """

    def __init__(self, rows: Sequence[tuple[Tensor, Tensor]], items: Sequence[str], left_out: str = "") -> None:
        self.rows, self.items, self.left_out = tuple(rows), tuple(items), left_out

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def longest(self) -> int:
        """Place of a text of which the most tokens are read."""
        return max(range(len(self)), key=self._read)

    def passes(self, places: Sequence[int], *, at_once: int) -> Iterator[Pass]:
        """Some of the texts, those of one length together, at most `at_once` of them.

        What stands after the last target of a text is left out: nothing that is read depends on it.
        """
        groups: dict[int, list[int]] = {}
        for place in places:
            groups.setdefault(self._read(place), []).append(place)
        for length, group in groups.items():
            for start in range(0, len(group), at_once):
                members = group[start : start + at_once]
                tokens = torch.stack([self.rows[place][0][: length + 1] for place in members])
                targets = torch.stack([self.rows[place][1][: length + 1] for place in members])
                yield Pass(tokens[:, :-1], targets[:, 1:], tokens[:, 1:])

    def _read(self, place: int) -> int:
        """Number of tokens before the last target."""
        return int(self.rows[place][1].nonzero()[-1])

    def split(self, share: float, draws: np.random.Generator) -> tuple["GateTexts", "GateTexts"]:
        """Texts to fit, and those of about `share` of the items, which are held out.

        Raises:
            DataError: All texts ask the same.
        """
        items = list(dict.fromkeys(self.items))
        if len(items) < 2:
            raise DataError(
                f"Gates need texts of at least two items, one of them held out; got {len(self)} texts of "
                f"{len(items)}. Give more texts, each with its own `item` or without one."
            )
        n_held = min(len(items) - 1, max(1, round(share * len(items))))
        held_items = {items[place] for place in draws.permutation(len(items))[:n_held]}
        return self._where(lambda item: item not in held_items), self._where(lambda item: item in held_items)

    def _where(self, keep: Callable[[str], bool]) -> "GateTexts":
        return self.select([place for place, item in enumerate(self.items) if keep(item)])

    def select(self, places: Sequence[int]) -> "GateTexts":
        """The texts of these places, in this order."""
        return GateTexts([self.rows[place] for place in places], [self.items[place] for place in places])


def gate_texts(model: HookedModel, data: Sequence[Any], *, name: str) -> GateTexts:
    """Data as tokens of a model.

    Args:
        model: The model, with a tokenizer unless the data are tokens.
        data: Answered texts, or batches of them that are encoded already, of any lengths.
        name: Name of the data set, for messages.

    Raises:
        DataError: Something else, no text that the model can take, or token ids that it does not know.
        ModelError: Texts for a model without a tokenizer.
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
    items: list[str] = []
    for batch in data:
        model.check_tokens(batch.tokens)
        rows += zip(batch.tokens.cpu(), batch.targets.cpu(), strict=True)
        # Without a name, every text asks something of its own.
        items += [
            f"{text.task}/{text.item}" if text.item else f"text {len(items) + place}"
            for place, text in enumerate(batch.texts)
        ]
    return GateTexts(rows, items, left_out)
