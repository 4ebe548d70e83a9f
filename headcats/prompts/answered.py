"""Texts with marked answers, for methods that score heads by the loss on an answer instead of by prompt pairs.

Few-shot prompts of word pairs can be had as such texts (`few_shot_texts`).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from headcats.base.errors import DataError, ModelError, pluralize
from headcats.prompts.drop_report import DropReport
from headcats.prompts.pair import Span, WordPair
from headcats.prompts.template import Template
from headcats.prompts.tokens import UNKNOWN_WORD, check_bos, encode_with_bos, unknown_id
from headcats.statistics.random_streams import stream


@dataclass(frozen=True)
class AnsweredText:
    """A text and the spans of it that are its answer.

    Attributes:
        text: Question and answer, as the model reads them.
        spans: Half-open (start, end) ranges of characters: `[(2, 5)]`. A token belongs to the answer if its last
            character does.
        key: Name of the text in errors and drop reports.
        item: The query: the cluster of every statistic and split. A text with item "" is its own cluster.
        task: Task it belongs to, or "".
        category: Category, function or data set it belongs to, or "".
        bos: "once" puts in front what the tokenizer itself writes there, else its BOS; "own" only what it writes, as
            Llama's does and GPT-2's does not; "written" nothing: a conversation in the words of a chat template.

    Raises:
        DataError: No span, a span outside the text, or spans that are not pairs of integers.
        UnknownNameError: Another `bos`.

    Example:
        >>> import headcats as hc
        >>> text = hc.methods.AnsweredText("4 7 plus 3 8 → 8 5", [(15, 18)], item="4 7 plus 3 8")
        >>> text.text[slice(*text.spans[0])]
        '8 5'
    """

    text: str
    spans: Sequence[tuple[int, int]]
    key: str = ""
    item: str = ""
    task: str = ""
    category: str = ""
    bos: str = "once"

    def __post_init__(self) -> None:
        check_bos(self.bos)
        name, length = f"Answered text {self.key or self.text!r}", len(self.text)
        pairs = list(self.spans) if isinstance(self.spans, Sequence) else [self.spans]
        if not pairs:
            raise DataError(f"{name} marks no answer: give at least one span.")
        if not all(map(_is_pair, pairs)):
            raise DataError(
                f"{name}: targets are a list of character ranges (start, end), as in AnsweredText(text, [(2, 5)]); got "
                f"{self.spans!r}."
            )
        for number, (start, end) in enumerate(pairs, start=1):
            if not 0 <= start < end <= length:
                raise DataError(
                    f"{name}: target {number} spans characters {start} to {end}, but the text has "
                    f"{pluralize(length, 'character')}: give (start, end) within the text, start before end."
                )
        object.__setattr__(self, "spans", tuple(Span(int(start), int(end)) for start, end in pairs))


def _is_pair(span: Any) -> bool:
    return isinstance(span, Sequence) and len(span) == 2 and all(isinstance(end, Integral) for end in span)


@dataclass(frozen=True)
class AnsweredBatch:
    """Tokens of answered texts of one length, never padded.

    Attributes:
        tokens: Token ids `[prompt, pos]`; whether they begin with BOS, `AnsweredText.bos` says.
        targets: `[prompt, pos]`, True at the answer's tokens; the model predicts each one position earlier.
        texts: The texts, in the same order.

    Raises:
        DataError: Shapes that do not match, or a prompt with no target or with a target at its first position.
    """

    tokens: Int[Tensor, "prompt pos"]
    targets: Bool[Tensor, "prompt pos"]
    texts: tuple[AnsweredText, ...]

    def __post_init__(self) -> None:
        if self.tokens.shape != self.targets.shape or len(self.tokens) != len(self.texts):
            raise DataError(
                f"Tokens {tuple(self.tokens.shape)}, targets {tuple(self.targets.shape)} and {len(self.texts)} texts "
                "do not match: expected [prompt, pos] twice and one text per prompt."
            )
        if not self.targets.any(1).all() or self.targets[:, 0].any():
            raise DataError(
                "Every prompt needs a target, but none at its first position, which the model does not predict; see "
                f"prompt {int((~self.targets.any(1) | self.targets[:, 0]).nonzero()[0])}."
            )

    def __len__(self) -> int:
        return len(self.texts)

    def select(self, prompts: Sequence[int]) -> "AnsweredBatch":
        """A batch of these prompts, in this order.

        Args:
            prompts: Indices of prompts.
        """
        index = torch.tensor(list(prompts), dtype=torch.long)
        return AnsweredBatch(self.tokens[index], self.targets[index], tuple(self.texts[i] for i in prompts))


def encode_answered(
    texts: Iterable[AnsweredText], tokenizer: Any, *, n_ctx: int | None = None
) -> tuple[list[AnsweredBatch], DropReport]:
    """Tokenize answered texts: one batch per length, in order of first appearance, and what was dropped and why."""
    if tokenizer is None:
        raise ModelError(
            "The model has no tokenizer, so texts cannot be written as tokens: pass hc.load_model(model, "
            "tokenizer=...)."
        )
    texts, report = list(texts), DropReport()
    unknown = unknown_id(tokenizer)
    encoded = encode_with_bos(tokenizer, [text.text for text in texts], bos=[text.bos for text in texts])
    groups: dict[int, list[tuple[AnsweredText, list[int], list[bool]]]] = {}
    for text, (bos, ids, ends) in zip(texts, encoded, strict=True):
        tokens = bos + ids
        targets = [False] * len(bos) + [any(start < end <= stop for start, stop in text.spans) for end in ends]
        if reason := _drop_reason(tokens, targets, unknown=unknown, n_ctx=n_ctx):
            report.drop(reason, repr(text.key or text.text))
            continue
        report.kept += 1
        groups.setdefault(len(tokens), []).append((text, tokens, targets))
    columns = [tuple(zip(*group, strict=True)) for group in groups.values()]
    return [AnsweredBatch(torch.tensor(ids), torch.tensor(targets), texts) for texts, ids, targets in columns], report


def _drop_reason(tokens: list[int], targets: list[bool], *, unknown: int | None, n_ctx: int | None) -> str:
    if unknown in tokens:
        return UNKNOWN_WORD
    if n_ctx is not None and len(tokens) > n_ctx:
        return "longer than the context"
    if not any(targets):
        return "no token ends in the answer"
    return "answer at the first position" if targets[0] else ""


def few_shot_texts(
    pairs: Sequence[WordPair],
    *,
    n: int,
    n_demos: int,
    template: Template,
    seed: int,
    task: str,
    category: str = "",
    purpose: str,
) -> list[AnsweredText]:
    """`n` prompts of random demonstrations and a query, each with its right answer; `purpose` names the random stream.

    Queries cycle through all pairs in random orders; the demonstrations of a prompt are different pairs, never the
    query.
    """
    if len(pairs) < n_demos + 1:
        raise DataError(
            f"Task {task!r} has {len(pairs)} usable pairs; a prompt of {n_demos} demonstrations needs {n_demos + 1}: "
            "use fewer demonstrations."
        )
    draws = stream(seed, task, purpose)
    texts: list[AnsweredText] = []
    while len(texts) < n:
        for query in draws.permutation(len(pairs))[: n - len(texts)]:
            places = draws.choice(len(pairs) - 1, n_demos, replace=False)
            item, output = pairs[query]
            prompt, _ = template.render([pairs[place + (place >= query)] for place in places], item)
            text = prompt + template.answer(output)
            span, key = Span(len(prompt), len(text)), f"{task}/{len(texts)}"
            texts.append(
                AnsweredText(text, (span,), key=key, item=item, task=task, category=category, bos=template.bos)
            )
    return texts
