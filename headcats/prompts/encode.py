"""From prompt pairs to token batches: grouped by length, never padded, and every dropped prompt counted."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import torch

from headcats.base.errors import DataError
from headcats.prompts.batch import PromptBatch
from headcats.prompts.drop_report import DropReport
from headcats.prompts.encoded import (
    WORDS,
    Encoded,
    Unscorable,
    added_tokens,
    check_length,
    encoded_pairs,
    unknown_phrase,
)
from headcats.prompts.from_script import answer_fields
from headcats.prompts.pair import PromptPair, WordPair
from headcats.prompts.template import Template, check_writable
from headcats.prompts.tokens import encode, unknown_id


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
            piece = unknown_phrase(str(reason), report, tokenizer, [template.query(pair[0]) + answer])
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
    groups: dict[tuple[int, int, int, bool, bool], list[Encoded]] = {}
    kept, report = encoded_pairs(pairs, tokenizer, n_ctx=n_ctx, answers=answers, bos=bos)
    for encoded in kept:
        groups.setdefault(encoded.group, []).append(encoded)
    return [_batch(group, task) for group in groups.values()], report


def _batch(group: list[Encoded], task: str) -> PromptBatch:
    pairs = [encoded.pair for encoded in group]
    with_roles = all(pair.roles for pair in pairs)
    with_second = any(encoded.second for encoded in group)
    seconds = [encoded.pair.second if encoded.second else None for encoded in group]
    answers, distractors = ([getattr(encoded.scored, word) for encoded in group] for word in WORDS)
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
