"""From prompt pairs to token batches: grouped by length, never padded, and every dropped prompt counted."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch

from headcats.base.errors import DataError
from headcats.prompts.answers import UNKNOWN_WORD, ScoredTokens, Unscorable, added_tokens, check_length, scored_tokens
from headcats.prompts.batch import PromptBatch
from headcats.prompts.drop_report import DropReport
from headcats.prompts.labels import token_labels
from headcats.prompts.packing import Labels
from headcats.prompts.pair import PromptPair, WordPair
from headcats.prompts.template import Template, check_writable
from headcats.prompts.token_ids import answer_fields
from headcats.prompts.tokens import encode, encode_with_bos, unknown_id, unknown_text

_WORDS = ("answer", "distractor")


def usable_pairs(
    pairs: Iterable[WordPair], tokenizer: Any, *, template: Template, answers: str = "whole"
) -> tuple[list[WordPair], DropReport]:
    """The word pairs whose output can be scored after the query, and what was dropped and why."""
    pairs, report, unknown = list(pairs), DropReport(), unknown_id(tokenizer)
    check_writable(template, tokenizer, pairs)
    queries = encode(tokenizer, [template.query(word) for word, _ in pairs])
    answered = encode(tokenizer, [template.query(word) + template.answer(output) for word, output in pairs])
    usable = []
    for pair, query, ids in zip(pairs, queries, answered, strict=True):
        try:
            check_length(added_tokens(query, ids, unknown=unknown, name="answer"), answers=answers, name="answer")
        except Unscorable as reason:
            answer, shown = template.answer(pair[1]), f"{pair[0]!r} -> {template.answer(pair[1])!r}"
            piece = _unknown(str(reason), report, tokenizer, [template.query(pair[0]) + answer])
            report.drop(str(reason), shown if piece in (pair[0], answer.strip(), "") else f"{piece!r} in {shown}")
        else:
            usable.append(pair)
    report.kept = len(usable)
    return usable, report


def encode_pairs(
    pairs: Sequence[PromptPair],
    tokenizer: Any,
    *,
    task: str = "",
    n_ctx: int | None = None,
    answers: str = "whole",
    bos: str = "once",
) -> tuple[list[PromptBatch], DropReport]:
    """Prompt pairs as batches, and what was dropped and why.

    In front stands what the tokenizer writes there, else its BOS, unless `bos` says otherwise. With answers="whole",
    tokens with which answer and distractor both begin are moved to the end of the prompts, with the role
    "answer_start". Prompts are kept whose clean and corrupted tokens do not align: they can be patched at their last
    token, and at roles that have as many tokens in both. A second corruption with an unknown word, or that is the
    clean or the corrupted prompt, is left out.
    """
    key, count = next(iter(Counter(pair.key for pair in pairs).most_common(1)), ("", 0))
    if count > 1:
        raise DataError(f"Two prompt pairs have the key {key!r}; keys must be unique within a task.")
    report = DropReport()
    groups: dict[tuple[int, int, int, bool, bool], list[_Encoded]] = {}
    for pair, encoded in zip(pairs, _encode_all(pairs, tokenizer, n_ctx, answers, bos), strict=True):
        if isinstance(encoded, str):
            texts = [
                prompt + word for prompt in (pair.clean, pair.corrupted) for word in (pair.answer, pair.distractor)
            ]
            piece = _unknown(encoded, report, tokenizer, texts)
            report.drop(encoded, f"{piece!r} in {pair.key!r}" if piece else repr(pair.key))
            continue
        report.kept += 1
        groups.setdefault(encoded.group, []).append(encoded)
    return [_batch(group, task) for group in groups.values()], report


def _unknown(reason: str, report: DropReport, tokenizer: Any, texts: Iterable[str]) -> str:
    """Phrase that says what the tokenizer lacks, where that is the reason; for the first example, which is reported."""
    return unknown_text(tokenizer, texts) if reason == UNKNOWN_WORD and reason not in report.examples else ""


@dataclass
class _Encoded:
    pair: PromptPair
    clean: list[int]
    corrupted: list[int]
    labels: Labels
    corrupted_labels: Labels
    scored: ScoredTokens
    second: list[int] | None
    second_labels: Labels

    @property
    def group(self) -> tuple[int, int, int, bool, bool]:
        """Key of the batch that a prompt belongs to."""
        several = max(len(self.scored.answer), len(self.scored.distractor)) > 1
        lengths = len(self.clean), len(self.corrupted), len(self.second or self.corrupted)
        return *lengths, several, self.labels == self.corrupted_labels == self.second_labels


def _encode_all(
    pairs: Sequence[PromptPair], tokenizer: Any, n_ctx: int | None, answers: str, bos: str
) -> Iterator[_Encoded | str]:
    """Each pair's tokens, or the reason why it is dropped."""
    unknown = unknown_id(tokenizer)
    clean, corrupted, second = (
        encode_with_bos(tokenizer, texts, bos=[bos] * len(texts))
        for texts in (
            [pair.clean for pair in pairs],
            [pair.corrupted for pair in pairs],
            [pair.second.text for pair in pairs if pair.second],
        )
    )
    seconds = iter(second)
    continued = zip(
        *(
            encode(tokenizer, [getattr(pair, prompt) + getattr(pair, word) for pair in pairs])
            for word in _WORDS
            for prompt in ("clean", "corrupted")
        ),
        strict=True,
    )
    # The texts of a template begin alike, so what stands in front of the clean prompt stands in front of all.
    for pair, (front, clean_ids, clean_ends), (_, corrupted_ids, corrupted_ends), ids in zip(
        pairs, clean, corrupted, continued, strict=True
    ):
        _, second_ids, second_ends = next(seconds) if pair.second else ([], [], [])
        added = partial(_added_to_both, (clean_ids, corrupted_ids), unknown=unknown)
        try:
            scored = scored_tokens(added(ids[:2], name="answer"), added(ids[2:], name="distractor"), answers=answers)
        except Unscorable as reason:
            yield str(reason)
            continue
        shared = list(scored.shared)
        n_read = max(len(clean_ids), len(corrupted_ids)) + max(len(scored.answer), len(scored.distractor)) - 1
        if n_ctx is not None and len(front) + len(shared) + n_read > n_ctx:
            yield "longer than the context"
            continue
        labelled = partial(token_labels, n_bos=len(front), n_shared=len(shared))
        corrupted_labels = labelled(corrupted_ends, {role: span for role, (_, span) in pair.roles.items()})
        has_second = second_ids and unknown not in second_ids and second_ids not in (clean_ids, corrupted_ids)
        yield _Encoded(
            pair,
            clean=front + clean_ids + shared,
            corrupted=front + corrupted_ids + shared,
            labels=labelled(clean_ends, {role: span for role, (span, _) in pair.roles.items()}),
            corrupted_labels=corrupted_labels,
            scored=scored,
            second=front + second_ids + shared if has_second else None,
            second_labels=labelled(second_ends, pair.second.roles) if pair.second and has_second else corrupted_labels,
        )


def _added_to_both(
    prompts: Sequence[list[int]], continued: Sequence[list[int]], *, unknown: int | None, name: str
) -> tuple[int, ...]:
    """The tokens that an answer adds to the clean and to the corrupted prompt; Unscorable if they differ."""
    clean, corrupted = (
        added_tokens(prompt, ids, unknown=unknown, name=name) for prompt, ids in zip(prompts, continued, strict=True)
    )
    if clean != corrupted:
        raise Unscorable(f"{name} has other tokens after the corrupted prompt")
    return clean


def _batch(group: list[_Encoded], task: str) -> PromptBatch:
    pairs = [encoded.pair for encoded in group]
    with_roles = all(pair.roles for pair in pairs)
    with_second = any(encoded.second for encoded in group)
    seconds = [encoded.pair.second if encoded.second else None for encoded in group]
    answers, distractors = ([getattr(encoded.scored, word) for encoded in group] for word in _WORDS)
    return PromptBatch(
        clean=torch.tensor([encoded.clean for encoded in group]),
        corrupted=torch.tensor([encoded.corrupted for encoded in group]),
        **answer_fields(answers, distractors),
        keys=tuple(pair.key for pair in pairs),
        items=tuple(pair.item for pair in pairs),
        distractor_tasks=tuple(pair.distractor_task for pair in pairs),
        labels=tuple(encoded.labels for encoded in group) if with_roles else None,
        corrupted_labels=tuple(encoded.corrupted_labels for encoded in group) if with_roles else None,
        task=task,
        second=torch.tensor([encoded.second or encoded.corrupted for encoded in group]) if with_second else None,
        second_tasks=tuple(second.distractor_task if second else "" for second in seconds) if with_second else None,
        second_labels=tuple(encoded.second_labels for encoded in group) if with_second and with_roles else None,
    )
