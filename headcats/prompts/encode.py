"""From prompt pairs to token batches: grouped by length, never padded, and every dropped prompt counted."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from headcats.errors import DataError
from headcats.prompts.batch import Labels, PromptBatch
from headcats.prompts.drop_report import DropReport
from headcats.prompts.pair import PromptPair, Span, WordPair
from headcats.prompts.template import Template, check_writable
from headcats.prompts.tokens import bos_of, encode, encode_with_ends, unknown_id

UNKNOWN_WORD = "word unknown to the tokenizer"


def usable_pairs(pairs: Iterable[WordPair], tokenizer: Any, *, template: Template) -> tuple[list[WordPair], DropReport]:
    """The word pairs whose output is exactly one token after the query, and what was dropped and why.

    An OptionError if the tokenizer does not know the template's fixed text.
    """
    pairs, report = list(pairs), DropReport()
    check_writable(template, tokenizer, pairs)
    queries = encode(tokenizer, [template.query(word) for word, _ in pairs])
    answered = encode(tokenizer, [template.query(word) + template.answer(output) for word, output in pairs])
    usable = []
    for pair, query, ids in zip(pairs, queries, answered, strict=True):
        if reason := _answer_problem(query, ids, unknown_id(tokenizer)):
            report.drop(reason, f"{pair[0]!r} -> {template.answer(pair[1])!r}")
        else:
            usable.append(pair)
    report.kept = len(usable)
    return usable, report


def encode_pairs(
    pairs: Sequence[PromptPair], tokenizer: Any, *, task: str = "", n_ctx: int | None = None
) -> tuple[list[PromptBatch], DropReport]:
    """Prompt pairs as batches, one per prompt length in order of first appearance, and what was dropped and why.

    BOS is put in front exactly once if the tokenizer has one. A second corruption of another length, or whose roles do
    not align, is left out; its prompt is kept. Two pairs with the same key are a DataError.
    """
    key, count = next(iter(Counter(pair.key for pair in pairs).most_common(1)), ("", 0))
    if count > 1:
        raise DataError(f"Two prompt pairs have the key {key!r}; keys must be unique within a task.")
    report = DropReport()
    groups: dict[int, list[_Encoded]] = {}
    for pair, encoded in zip(pairs, _encode_all(pairs, tokenizer, n_ctx), strict=True):
        if isinstance(encoded, str):
            report.drop(encoded, repr(pair.key))
            continue
        report.kept += 1
        groups.setdefault(len(encoded.clean), []).append(encoded)
    return [_batch(group, task) for group in groups.values()], report


@dataclass
class _Encoded:
    pair: PromptPair
    clean: list[int]
    corrupted: list[int]
    labels: Labels
    answer: int
    distractor: int
    second: list[int] | None


def _encode_all(pairs: Sequence[PromptPair], tokenizer: Any, n_ctx: int | None) -> Iterator[_Encoded | str]:
    """Each pair's tokens, or the reason why it is dropped."""
    unknown, bos = unknown_id(tokenizer), bos_of(tokenizer)
    clean = encode_with_ends(tokenizer, [pair.clean for pair in pairs])
    corrupted = encode_with_ends(tokenizer, [pair.corrupted for pair in pairs])
    answers = encode(tokenizer, [pair.clean + pair.answer for pair in pairs])
    distractors = encode(tokenizer, [pair.clean + pair.distractor for pair in pairs])
    seconds = iter(encode_with_ends(tokenizer, [pair.second.text for pair in pairs if pair.second]))
    for pair, (clean_ids, clean_ends), (corrupted_ids, corrupted_ends), answered, distracted in zip(
        pairs, clean, corrupted, answers, distractors, strict=True
    ):
        second_ids, second_ends = next(seconds) if pair.second else ([], [])
        labels = _labels(clean_ends, {role: span for role, (span, _) in pair.roles.items()}, len(bos))
        corrupted_labels = _labels(corrupted_ends, {role: span for role, (_, span) in pair.roles.items()}, len(bos))
        problems = (
            _answer_problem(clean_ids, answered, unknown),
            _answer_problem(clean_ids, distracted, unknown).replace("answer", "distractor"),
            UNKNOWN_WORD if unknown in corrupted_ids else "",
            "answer equals distractor" if answered[-1:] == distracted[-1:] else "",
            "clean and corrupted of unequal length" if len(clean_ids) != len(corrupted_ids) else "",
            "longer than the context" if n_ctx is not None and len(bos + clean_ids) > n_ctx else "",
            "roles do not align" if labels != corrupted_labels else "",
        )
        if problem := next(filter(None, problems), ""):
            yield problem
            continue
        second_labels = _labels(second_ends, pair.second.roles if pair.second else {}, len(bos))
        usable = len(second_ids) == len(corrupted_ids) and second_labels == labels and unknown not in second_ids
        second = bos + second_ids if usable and second_ids not in (clean_ids, corrupted_ids) else None
        yield _Encoded(pair, bos + clean_ids, bos + corrupted_ids, labels, answered[-1], distracted[-1], second)


def _batch(group: list[_Encoded], task: str) -> PromptBatch:
    pairs = [encoded.pair for encoded in group]
    labels = tuple(encoded.labels for encoded in group) if all(pair.roles for pair in pairs) else None
    with_second = any(encoded.second for encoded in group)
    seconds = [encoded.pair.second if encoded.second else None for encoded in group]
    columns = ("clean", "corrupted", "answer", "distractor")
    return PromptBatch(
        **{name: torch.tensor([getattr(encoded, name) for encoded in group]) for name in columns},
        keys=tuple(pair.key for pair in pairs),
        items=tuple(pair.item for pair in pairs),
        distractor_tasks=tuple(pair.distractor_task for pair in pairs),
        labels=labels,
        corrupted_labels=labels,
        task=task,
        second=torch.tensor([encoded.second or encoded.corrupted for encoded in group]) if with_second else None,
        second_tasks=tuple(second.distractor_task if second else "" for second in seconds) if with_second else None,
    )


def _answer_problem(query: list[int], answered: list[int], unknown: int | None) -> str:
    if unknown in answered:
        return UNKNOWN_WORD
    if answered[: len(query)] != query or len(answered) <= len(query):
        return "answer changes the tokens before it"
    return "" if len(answered) == len(query) + 1 else "answer of several tokens"


def _labels(ends: list[int], spans: Mapping[str, Span], n_bos: int) -> Labels:
    """The role of each token, which is that of its last character: `role`, or `role[i/n]` if n > 1 tokens have it.

    BOS has the role "bos", text outside every role "other".
    """
    if not spans:
        return ()
    roles = [next((role for role, (start, stop) in spans.items() if start < end <= stop), "other") for end in ends]
    counts = Counter(roles)
    seen: Counter[str] = Counter()
    labels = []
    for role in roles:
        labels.append(role if counts[role] == 1 else f"{role}[{seen[role]}/{counts[role]}]")
        seen[role] += 1
    return ("bos",) * n_bos + tuple(labels)
