"""Texts with marked answers, for methods that judge heads by the tokens of an answer, not by pairs of prompts."""

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from headcats.errors import DataError
from headcats.formatting import pluralize
from headcats.prompts.encode import UNKNOWN_WORD, DropReport
from headcats.prompts.pair import Span
from headcats.prompts.tokens import bos_of, encode_with_ends, unknown_id

# Characters of a text in a message.
_SHOWN = 60


@dataclass(frozen=True)
class AnsweredText:
    """A text and the parts of it that are its answer.

    Attributes:
        text: Question and answer, as the model reads them.
        spans: Targets, as (start, end) in characters, the end not included: `[(2, 5)]`. A token belongs to the answer
            if its last character does.
        key: Name of the text; errors and drop reports use it.
        item: What is asked. Texts with the same item are one cluster in every statistic and split; one without ("") is
            a cluster of its own.
        task: Task it belongs to, or "".
        category: Category, function or data set it counts for, or "".

    Raises:
        DataError: No span, a span outside the text, or something else than pairs of whole numbers.

    Example:
        >>> import headcats as hc
        >>> text = hc.AnsweredText("4 7 plus 3 8 → 8 5", [(15, 18)], item="4 7 plus 3 8")
        >>> text.text[slice(*text.spans[0])]
        '8 5'
    """

    text: str
    spans: Sequence[tuple[int, int]]
    key: str = ""
    item: str = ""
    task: str = ""
    category: str = ""

    def __post_init__(self) -> None:
        spans = _read_spans(self.spans, self.text, what=f"Answered text {self.key or self.text!r}")
        object.__setattr__(self, "spans", spans)


def _read_spans(spans: Any, text: str, *, what: str) -> tuple[Span, ...]:
    pairs = list(spans) if isinstance(spans, Sequence) else [spans]
    if not pairs:
        raise DataError(f"{what} marks no answer: give at least one span.")
    if not all(map(_is_pair, pairs)):
        raise DataError(
            f"{what}: its targets are pairs (start, end) of characters in a list, AnsweredText(text, [(2, 5)]); got "
            f"{spans!r}."
        )
    for number, (start, end) in enumerate(pairs, start=1):
        if not 0 <= start < end <= len(text):
            raise DataError(
                f"{what}: target {number} spans characters {start} to {end}, but the text {_shown(text)} has "
                f"{pluralize(len(text), 'character')}: give (start, end) within it, the start before the end."
            )
    return tuple(Span(int(start), int(end)) for start, end in pairs)


def _is_pair(one: Any) -> bool:
    return isinstance(one, Sequence) and len(one) == 2 and all(isinstance(end, Integral) for end in one)


def _shown(text: str) -> str:
    return repr(textwrap.shorten(text, _SHOWN, placeholder=" ..."))


@dataclass(frozen=True)
class AnsweredBatch:
    """Answered texts of one length as tokens, never padded.

    Attributes:
        tokens: Token ids `[prompt, pos]`, the beginning-of-sequence token in front where there is one.
        targets: `[prompt, pos]`, True at the tokens of the answer; the model predicts such a token one position
            earlier.
        texts: The texts, in the same order.

    Raises:
        DataError: Shapes that do not belong together, a prompt without target, or one at its first position.

    Example:
        >>> import headcats as hc
        >>> import torch
        >>> tokens = torch.tensor([[0, 10, 3, 11], [0, 12, 3, 13]])
        >>> answers = torch.tensor([[False, False, False, True]] * 2)  # the last token of each
        >>> len(hc.AnsweredBatch.from_tokens(tokens, answers, items=["10", "12"]))
        2
    """

    tokens: Int[Tensor, "prompt pos"]
    targets: Bool[Tensor, "prompt pos"]
    texts: tuple[AnsweredText, ...]

    def __post_init__(self) -> None:
        if self.tokens.shape != self.targets.shape or len(self.tokens) != len(self.texts):
            raise DataError(
                f"Tokens {tuple(self.tokens.shape)}, targets {tuple(self.targets.shape)} and {len(self.texts)} texts "
                "do not belong together: expected [prompt, pos] twice and one text per prompt."
            )
        if not self.targets.any(1).all() or self.targets[:, 0].any():
            raise DataError(
                "Every prompt needs a target, and none at its first position, which nothing predicts; prompt "
                f"{int((~self.targets.any(1) | self.targets[:, 0]).nonzero()[0])} differs."
            )

    @classmethod
    def from_tokens(
        cls,
        tokens: Int[Tensor, "prompt pos"],
        targets: Bool[Tensor, "prompt pos"],
        *,
        items: Sequence[str] | None = None,
        task: str = "",
        category: str = "",
    ) -> "AnsweredBatch":
        """A batch of token ids, for models without a tokenizer.

        Args:
            tokens: Token ids of one length.
            targets: True at the tokens of the answer.
            items: What each prompt asks; "" (each its own) where not given.
            task: Task of all prompts.
            category: Category, function or data set of all prompts.

        Returns:
            The batch; its texts have the names "prompt 0", "prompt 1", ... and no words.

        Raises:
            DataError: Shapes that do not fit, a prompt without target, or one at the first position.
        """
        names = [""] * len(tokens) if items is None else list(items)
        texts = [AnsweredText("?", (Span(0, 1),), f"prompt {k}", item, task, category) for k, item in enumerate(names)]
        return cls(tokens, targets, tuple(texts))

    def __len__(self) -> int:
        return len(self.texts)

    def select(self, prompts: Sequence[int]) -> "AnsweredBatch":
        """The texts of these places, in this order.

        Args:
            prompts: Places, counted from 0.

        Returns:
            A smaller batch.
        """
        places = torch.tensor(list(prompts), dtype=torch.long)
        return AnsweredBatch(self.tokens[places], self.targets[places], tuple(self.texts[place] for place in prompts))


def encode_answered(
    texts: Iterable[AnsweredText], tokenizer: Any, *, n_ctx: int | None = None
) -> tuple[list[AnsweredBatch], DropReport]:
    """Answered texts as batches, one per length, in the order of first appearance.

    Args:
        texts: The texts.
        tokenizer: A Hugging Face tokenizer.
        n_ctx: Longest text the model can hold, in tokens.

    Returns:
        The batches (none when every text is dropped), and the report with the reasons "word unknown to the tokenizer",
        "longer than the context", "no token ends in the answer" and "answer at the first position" (nothing predicts
        it).
    """
    texts, report = list(texts), DropReport()
    bos, unknown = bos_of(tokenizer), unknown_id(tokenizer)
    groups: dict[int, list[tuple[AnsweredText, list[int], list[bool]]]] = {}
    for text, (ids, ends) in zip(texts, encode_with_ends(tokenizer, [one.text for one in texts]), strict=True):
        tokens = bos + ids
        targets = [False] * len(bos) + [any(start < end <= stop for start, stop in text.spans) for end in ends]
        problem = _problem(tokens, targets, unknown=unknown, n_ctx=n_ctx)
        if problem:
            report.drop(problem, repr(text.key or text.text))
            continue
        report.kept += 1
        groups.setdefault(len(tokens), []).append((text, tokens, targets))
    batches = [
        AnsweredBatch(
            torch.tensor([tokens for _, tokens, _ in group]),
            torch.tensor([targets for _, _, targets in group]),
            tuple(text for text, _, _ in group),
        )
        for group in groups.values()
    ]
    return batches, report


def _problem(tokens: list[int], targets: list[bool], *, unknown: int | None, n_ctx: int | None) -> str:
    if unknown is not None and unknown in tokens:
        return UNKNOWN_WORD
    if n_ctx is not None and len(tokens) > n_ctx:
        return "longer than the context"
    if not any(targets):
        return "no token ends in the answer"
    return "answer at the first position" if targets[0] else ""
