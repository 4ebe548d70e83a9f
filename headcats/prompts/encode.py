"""From prompt pairs to token batches: grouped by length, never padded, everything that is dropped counted."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from headcats.errors import DataError
from headcats.prompts.batch import Labels, PromptBatch
from headcats.prompts.pair import PromptPair, Span
from headcats.prompts.template import Template
from headcats.prompts.tokens import bos_of, encode, encode_with_ends, unknown_id
from headcats.prompts.writable import check_writable

WordPair = tuple[str, str]

UNKNOWN_WORD = "word unknown to the tokenizer"


@dataclass
class DropReport:
    """What was kept and what was not.

    Attributes:
        kept: Number kept.
        dropped: Reason -> number dropped for it.
        examples: Reason -> the first thing dropped for it.
    """

    kept: int = 0
    dropped: dict[str, int] = field(default_factory=dict)
    examples: dict[str, str] = field(default_factory=dict)

    def drop(self, reason: str, example: str) -> None:
        """Count one more."""
        self.dropped[reason] = self.dropped.get(reason, 0) + 1
        self.examples.setdefault(reason, example)

    def add(self, other: "DropReport") -> None:
        """Count everything that another report counts."""
        self.kept += other.kept
        for reason, count in other.dropped.items():
            self.dropped[reason] = self.dropped.get(reason, 0) + count
            self.examples.setdefault(reason, other.examples[reason])

    def summary(self) -> str:
        """`60 kept; 3 answer of several tokens (e.g. 'France' -> ' Paris')`."""
        parts = [f"{self.kept} kept"]
        parts += [f"{count} {reason} (e.g. {self.examples[reason]})" for reason, count in self.dropped.items()]
        return "; ".join(parts)


def usable_pairs(pairs: Iterable[WordPair], tokenizer: Any, *, template: Template) -> tuple[list[WordPair], DropReport]:
    """The word pairs whose output is exactly one token after the query, and why the others are not.

    Args:
        pairs: (input, output) pairs.
        tokenizer: A Hugging Face tokenizer.
        template: How a prompt is written.

    Returns:
        The usable pairs, and the report with the reasons "answer of several tokens", "word unknown to the tokenizer"
        and "answer changes the tokens before it".

    Raises:
        OptionError: The tokenizer does not know the template's own text.
    """
    pairs, report = list(pairs), DropReport()
    check_writable(template, tokenizer, pairs)
    queries = encode(tokenizer, [template.query(given) for given, _ in pairs])
    answered = encode(tokenizer, [template.query(given) + template.answer(output) for given, output in pairs])
    usable = []
    for pair, query, whole in zip(pairs, queries, answered, strict=True):
        reason = _answer_problem(query, whole, unknown_id(tokenizer))
        if reason:
            report.drop(reason, f"{pair[0]!r} -> {template.answer(pair[1])!r}")
        else:
            usable.append(pair)
    report.kept = len(usable)
    return usable, report


def encode_pairs(
    pairs: Sequence[PromptPair], tokenizer: Any, *, task: str = "", n_ctx: int | None = None, aligned: bool = True
) -> tuple[list[PromptBatch], DropReport]:
    """Prompt pairs as batches, one per prompt length, in the order of first appearance.

    The beginning-of-sequence token is put in front exactly once where the tokenizer has one. A second corruption that
    cannot be written at the same length, with every role at the same place, is left out; its prompt is kept.

    Args:
        pairs: Prompt pairs as text.
        tokenizer: A Hugging Face tokenizer.
        task: Name the batches carry.
        n_ctx: Longest prompt the model can hold, in tokens.
        aligned: Drop pairs whose roles do not cover the same positions (needed for every choice of positions but
            "last").

    Returns:
        The batches (none when every pair is dropped) and the report; reasons: "answer of several tokens", "distractor
        of several tokens", "answer changes the tokens before it", "answer equals distractor", "clean and corrupted of
        unequal length", "roles do not align", "word unknown to the tokenizer", "longer than the context".

    Raises:
        DataError: Two pairs with the same key.
    """
    _check_keys(pairs)
    report = DropReport()
    groups: dict[int, list[_Encoded]] = {}
    for pair, found in zip(pairs, _encode_all(pairs, tokenizer), strict=True):
        reason = found if isinstance(found, str) else _pair_problem(found, n_ctx=n_ctx, aligned=aligned)
        if reason or isinstance(found, str):
            report.drop(str(reason), repr(pair.key))
            continue
        report.kept += 1
        groups.setdefault(len(found.clean), []).append(found)
    return [_batch(group, task) for group in groups.values()], report


@dataclass
class _Encoded:
    pair: PromptPair
    clean: list[int]
    corrupted: list[int]
    clean_labels: Labels
    corrupted_labels: Labels
    answer: int
    distractor: int
    second: list[int] | None


def _encode_all(pairs: Sequence[PromptPair], tokenizer: Any) -> Iterable["_Encoded | str"]:
    """Each pair's tokens, or the reason why it has none."""
    unknown, bos = unknown_id(tokenizer), bos_of(tokenizer)
    clean = encode_with_ends(tokenizer, [pair.clean for pair in pairs])
    corrupted = encode_with_ends(tokenizer, [pair.corrupted for pair in pairs])
    answers = encode(tokenizer, [pair.clean + pair.answer for pair in pairs])
    distractors = encode(tokenizer, [pair.clean + pair.distractor for pair in pairs])
    seconds = _encode_seconds(pairs, tokenizer)
    for pair, (clean_ids, clean_ends), (corrupted_ids, corrupted_ends), answered, distracted, second in zip(
        pairs, clean, corrupted, answers, distractors, seconds, strict=True
    ):
        problem = _answer_problem(clean_ids, answered, unknown)
        if not problem:
            problem = _answer_problem(clean_ids, distracted, unknown).replace("answer", "distractor")
        if not problem and unknown is not None and unknown in corrupted_ids:
            problem = UNKNOWN_WORD
        if problem:
            yield problem
            continue
        labels = _labels(corrupted_ends, [(role, spans[1]) for role, spans in pair.roles.items()], len(bos))
        other = None if second is None else bos + second[0]
        aligned = second is not None and len(second[0]) == len(corrupted_ids) and second[1] == labels
        yield _Encoded(
            pair,
            bos + clean_ids,
            bos + corrupted_ids,
            _labels(clean_ends, [(role, spans[0]) for role, spans in pair.roles.items()], len(bos)),
            labels,
            answered[-1],
            distracted[-1],
            other if aligned and other not in (bos + clean_ids, bos + corrupted_ids) else None,
        )


def _encode_seconds(pairs: Sequence[PromptPair], tokenizer: Any) -> list[tuple[list[int], Labels] | None]:
    """Tokens and roles of each pair's second corruption; None where there is none, or a word in it is unknown."""
    unknown, n_bos = unknown_id(tokenizer), len(bos_of(tokenizer))
    encoded = iter(encode_with_ends(tokenizer, [pair.second.text for pair in pairs if pair.second is not None]))
    found: list[tuple[list[int], Labels] | None] = []
    for pair in pairs:
        if pair.second is None:
            found.append(None)
            continue
        ids, ends = next(encoded)
        labels = _labels(ends, list(pair.second.roles.items()), n_bos)
        found.append(None if unknown is not None and unknown in ids else (ids, labels))
    return found


def _pair_problem(found: _Encoded, *, n_ctx: int | None, aligned: bool) -> str:
    if found.answer == found.distractor:
        return "answer equals distractor"
    if len(found.clean) != len(found.corrupted):
        return "clean and corrupted of unequal length"
    if n_ctx is not None and len(found.clean) > n_ctx:
        return "longer than the context"
    if aligned and found.clean_labels != found.corrupted_labels:
        return "roles do not align"
    return ""


def _batch(group: list[_Encoded], task: str) -> PromptBatch:
    with_roles = all(one.pair.roles for one in group)
    with_second = any(one.second is not None for one in group)
    return PromptBatch(
        clean=torch.tensor([one.clean for one in group]),
        corrupted=torch.tensor([one.corrupted for one in group]),
        answer=torch.tensor([one.answer for one in group]),
        distractor=torch.tensor([one.distractor for one in group]),
        keys=tuple(one.pair.key for one in group),
        items=tuple(one.pair.item for one in group),
        distractor_tasks=tuple(one.pair.distractor_task for one in group),
        labels=tuple(one.clean_labels for one in group) if with_roles else None,
        corrupted_labels=tuple(one.corrupted_labels for one in group) if with_roles else None,
        task=task,
        second=torch.tensor([one.second or one.corrupted for one in group]) if with_second else None,
        second_tasks=tuple(_second_task(one) for one in group) if with_second else None,
    )


def _second_task(one: _Encoded) -> str:
    return one.pair.second.shown if one.second is not None and one.pair.second is not None else ""


def _answer_problem(before: list[int], whole: list[int], unknown: int | None) -> str:
    if unknown is not None and unknown in whole:
        return UNKNOWN_WORD
    if whole[: len(before)] != before or len(whole) <= len(before):
        return "answer changes the tokens before it"
    return "" if len(whole) == len(before) + 1 else "answer of several tokens"


def _labels(ends: list[int], spans: list[tuple[str, Span]], n_bos: int) -> Labels:
    """The role of each token, which is that of its last character: `role`, or `role[i/n]` where n > 1 tokens have it.

    "bos" stands in front, "other" for text outside every role.
    """
    if not spans:
        return ()
    owners = [next((role for role, (start, stop) in spans if start < end <= stop), "other") for end in ends]
    counts = Counter(owners)
    seen: Counter[str] = Counter()
    labels = []
    for role in owners:
        labels.append(role if counts[role] == 1 else f"{role}[{seen[role]}/{counts[role]}]")
        seen[role] += 1
    return ("bos",) * n_bos + tuple(labels)


def _check_keys(pairs: Sequence[PromptPair]) -> None:
    seen: set[str] = set()
    for pair in pairs:
        if pair.key in seen:
            raise DataError(f"Two prompt pairs have the key {pair.key!r}; keys must be unique within a task.")
        seen.add(pair.key)
