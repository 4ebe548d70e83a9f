"""Relations as pairs of single tokens."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor

from headcats.base.errors import DataError
from headcats.prompts.drop_report import DropReport
from headcats.prompts.tokens import UNKNOWN_WORD, encode, unknown_id


@dataclass(frozen=True, eq=False)
class Relation:
    """A relation whose sources and targets are single tokens."""

    name: str
    sources: Int[Tensor, " pair"]
    targets: Int[Tensor, " pair"]
    words: tuple[tuple[str, str], ...]
    """The pairs as text; token ids where no words were given."""
    report: DropReport

    def __len__(self) -> int:
        return len(self.words)

    @property
    def copying(self) -> bool:
        """True if every pair has the same token on both sides; such relations have a k of their own."""
        return bool((self.sources == self.targets).all())


def single_tokens(
    name: str, pairs: Sequence[Any], *, tokenizer: Any | None, d_vocab: int, min_pairs: int = 1
) -> Relation:
    """The pairs whose words, each with a leading space, are exactly one token; token ids are taken as they are.

    A DataError for pairs of something else, words without a tokenizer, ids outside the vocabulary, or too few pairs
    left (the message counts those dropped, by reason).
    """
    candidates: list[Any] = [tuple(pair) if isinstance(pair, list | tuple) else pair for pair in pairs]
    if candidates and all(_is_pair(pair, int) for pair in candidates):
        ids: list[Any] = candidates
        if outside := [token for pair in ids for token in pair if not 0 <= token < d_vocab]:
            raise DataError(
                f"Relation {name!r} holds the token id {outside[0]}; the model knows ids 0 to {d_vocab - 1}."
            )
    elif all(_is_pair(pair, str) for pair in candidates):
        ids = _encode(name, candidates, tokenizer)
    else:
        wrong = next(pair for pair in candidates if not _is_pair(pair, str))
        raise DataError(
            f"Relation {name!r} must be a list of (source, target) words, or of token ids; it holds {wrong!r}."
        )
    report = DropReport()
    accepted: dict[tuple[int, int], tuple[str, str]] = {}
    for (source, target), id_pair in zip(candidates, ids, strict=True):
        if problem := id_pair if isinstance(id_pair, str) else "given twice" if id_pair in accepted else "":
            report.drop(problem, f"{source!r} -> {target!r}")
        else:
            accepted[id_pair] = (str(source), str(target))
    report.kept = len(accepted)
    if len(accepted) < min_pairs:
        raise DataError(
            f"Relation {name!r} has too few pairs of single tokens: {report.summary()}; at least {min_pairs} are "
            f"needed. Add pairs, or leave it out."
        )
    sources, targets = torch.tensor(list(accepted), dtype=torch.long).reshape(-1, 2).T
    return Relation(name, sources.clone(), targets.clone(), tuple(accepted.values()), report)


def _encode(name: str, pairs: list[tuple[str, str]], tokenizer: Any | None) -> list[tuple[int, int] | str]:
    """The two ids of each pair, or why it has none."""
    if not pairs:
        return []
    if tokenizer is None:
        raise DataError(f"Relation {name!r} is given as words and the model has no tokenizer: give token ids instead.")
    words = [" " + word for pair in pairs for word in pair]
    ids = encode(tokenizer, words)
    unknown = unknown_id(tokenizer)

    def problem(source: list[int], target: list[int]) -> str:
        if unknown is not None and unknown in (*source, *target):
            return UNKNOWN_WORD
        side, tokens = ("source", source) if len(source) != 1 else ("target", target)
        return "" if len(tokens) == 1 else f"{side} of {'several tokens' if tokens else 'no token'}"

    sides = zip(ids[::2], ids[1::2], strict=True)
    return [problem(source, target) or (source[0], target[0]) for source, target in sides]


def _is_pair(pair: Any, kind: type) -> bool:
    return (
        isinstance(pair, tuple)
        and len(pair) == 2
        and all(isinstance(part, kind) and not isinstance(part, bool) for part in pair)
    )
