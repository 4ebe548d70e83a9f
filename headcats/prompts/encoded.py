"""Prompt pairs as tokens: which of them an answer adds to its prompt, and which role each has."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from headcats.prompts.drop_report import DropReport
from headcats.prompts.packing import Labels
from headcats.prompts.pair import PromptPair, Span
from headcats.prompts.tokens import UNKNOWN_WORD, encode, encode_with_bos, unknown_id, unknown_text

ANSWER_START = "answer_start"
"""Role of the tokens at the end of a prompt with which answer and distractor both begin."""
WORDS = ("answer", "distractor")


class ScoredTokens(NamedTuple):
    """The tokens of an answer and its distractor, at least one each; they begin with different ones."""

    shared: tuple[int, ...]
    """Tokens with which both texts begin, which belong to the prompt."""
    answer: tuple[int, ...]
    distractor: tuple[int, ...]


class Unscorable(ValueError):
    """An answer that cannot be scored; the message is the reason for which its prompt is dropped."""


def added_tokens(prompt: Sequence[int], continued: Sequence[int], *, unknown: int | None, name: str) -> tuple[int, ...]:
    """The tokens that an answer adds to its prompt: those of prompt and answer as one text, after the prompt's own.

    Unscorable if the answer merges with the end of the prompt, adds nothing, or has an unknown word.
    """
    if unknown in continued:
        raise Unscorable(UNKNOWN_WORD)
    if list(continued[: len(prompt)]) != list(prompt):
        raise Unscorable(f"{name} changes the tokens before it")
    if len(continued) == len(prompt):
        raise Unscorable(f"{name} adds no token")
    return tuple(continued[len(prompt) :])


def check_length(tokens: Sequence[int], *, answers: str, name: str) -> None:
    """Unscorable if only answers of one token are scored, and this one has several."""
    if answers == "single" and len(tokens) > 1:
        raise Unscorable(f"{name} of several tokens")


def scored_tokens(answer: tuple[int, ...], distractor: tuple[int, ...], *, answers: str) -> ScoredTokens:
    """Tokens of an answer and its distractor that are scored, of those that each adds to the prompt.

    With "whole", the tokens with which both begin belong to the prompt. Unscorable if nothing tells the two apart, or
    one of them is the beginning of the other: it could never be the less likely of the two.

    Example:
        >>> scored_tokens((5, 7, 8), (5, 9), answers="whole")
        ScoredTokens(shared=(5,), answer=(7, 8), distractor=(9,))
        >>> scored_tokens((7, 8), (9,), answers="first_token")
        ScoredTokens(shared=(), answer=(7,), distractor=(9,))
    """
    if answer == distractor:
        raise Unscorable("answer equals distractor after tokenisation")
    check_length(answer, answers=answers, name="answer")
    check_length(distractor, answers=answers, name="distractor")
    if answers == "first_token":
        if answer[0] == distractor[0]:
            raise Unscorable("answer and distractor begin with the same token")
        return ScoredTokens((), answer[:1], distractor[:1])
    shared = 0
    while answer[shared : shared + 1] == distractor[shared : shared + 1]:
        shared += 1
    if shared == len(answer):
        raise Unscorable("answer is the beginning of the distractor")
    if shared == len(distractor):
        raise Unscorable("distractor is the beginning of the answer")
    return ScoredTokens(answer[:shared], answer[shared:], distractor[shared:])


def token_labels(ends: Sequence[int], spans: Mapping[str, Span], *, n_bos: int, n_shared: int) -> Labels:
    """The role of each token, which is that of its last character: `role`, or `role[i/n]` if n > 1 tokens have it.

    BOS has the role "bos", text outside every role "other". No labels at all for a prompt without roles.
    """
    if not spans:
        return ()
    of_character = ["other"] * (max(ends, default=0) + 1)  # the last one is that of a token without characters, end 0
    for role, (start, stop) in reversed(list(spans.items())):  # of spans that overlap the first counts
        stop = min(stop, len(of_character) - 1)
        of_character[start:stop] = [role] * max(0, stop - start)
    roles = [of_character[end - 1] for end in ends]
    roles += [ANSWER_START] * n_shared
    return ("bos",) * n_bos + number_roles(roles)


def number_roles(roles: Sequence[str]) -> tuple[str, ...]:
    """The label of every token: its role, or `role[i/n]` if n > 1 tokens have it.

    Example:
        >>> number_roles(["bos", "x1", "x1"])
        ('bos', 'x1[0/2]', 'x1[1/2]')
    """
    counts, seen = Counter(roles), dict.fromkeys(roles, 0)
    labels = []
    for role in roles:
        if (n := counts[role]) == 1:
            labels.append(role)
        else:
            labels.append(f"{role}[{seen[role]}/{n}]")
            seen[role] += 1
    return tuple(labels)


@dataclass
class Encoded:
    """Tokens of a prompt pair, with the role of each."""

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


def encoded_pairs(
    pairs: Sequence[PromptPair], tokenizer: Any, *, n_ctx: int | None, answers: str = "whole", bos: str = "once"
) -> tuple[list[Encoded], DropReport]:
    """Tokens of prompt pairs, and what was dropped and why (see `headcats.prompts.encode.encode_pairs`)."""
    kept, report = [], DropReport()
    for pair, encoded in zip(pairs, _encode_all(pairs, tokenizer, n_ctx, answers, bos), strict=True):
        if isinstance(encoded, str):
            texts = [
                prompt + word for prompt in (pair.clean, pair.corrupted) for word in (pair.answer, pair.distractor)
            ]
            piece = unknown_phrase(encoded, report, tokenizer, texts)
            report.drop(encoded, f"{piece!r} in {pair.key!r}" if piece else repr(pair.key))
            continue
        report.kept += 1
        kept.append(encoded)
    return kept, report


def unknown_phrase(reason: str, report: DropReport, tokenizer: Any, texts: Iterable[str]) -> str:
    """Phrase that says what the tokenizer lacks, where that is the reason; for the first example, which is reported."""
    return unknown_text(tokenizer, texts) if reason == UNKNOWN_WORD and reason not in report.examples else ""


def _encode_all(
    pairs: Sequence[PromptPair], tokenizer: Any, n_ctx: int | None, answers: str, bos: str
) -> Iterator[Encoded | str]:
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
            for word in WORDS
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
        yield Encoded(
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
