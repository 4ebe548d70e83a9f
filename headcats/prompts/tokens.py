"""Token ids of texts, where each token ends, and a tokenizer's two special tokens."""

from collections.abc import Sequence
from typing import Any

# Not verbose: we drop and count texts longer than the context ourselves, so transformers need not warn.
_PLAIN = {"add_special_tokens": False, "verbose": False}


def encode(tokenizer: Any, texts: Sequence[str]) -> list[list[int]]:
    """Token ids of each text, without special tokens; BOS that a tokenizer puts in front unasked is taken off."""
    if not texts:
        return []
    return [list(ids[_n_bos(tokenizer, ids) :]) for ids in tokenizer(list(texts), **_PLAIN)["input_ids"]]


def bos_of(tokenizer: Any) -> list[int]:
    """The BOS token to put in front of what `encode` gives, as a list; [] if the tokenizer has none."""
    bos = tokenizer.bos_token_id
    return [] if bos is None else [bos]


def unknown_id(tokenizer: Any) -> int | None:
    """Id of the unknown-word token; None if it is BOS or EOS as well (in GPT-2, end of text)."""
    unknown = tokenizer.unk_token_id
    return None if unknown in (tokenizer.bos_token_id, tokenizer.eos_token_id) else unknown


def encode_with_ends(tokenizer: Any, texts: Sequence[str]) -> list[tuple[list[int], list[int]]]:
    """Token ids of each text, as `encode` gives them, and the character at which each token ends."""
    if not texts:
        return []
    if not getattr(tokenizer, "is_fast", False):
        return [
            (ids, _ends_by_length(text, ids, tokenizer))
            for text, ids in zip(texts, encode(tokenizer, texts), strict=True)
        ]
    encoding = tokenizer(list(texts), **_PLAIN, return_offsets_mapping=True)
    return [
        (list(ids[start:]), [end for _, end in offsets[start:]])
        for ids, offsets in zip(encoding["input_ids"], encoding["offset_mapping"], strict=True)
        for start in [_n_bos(tokenizer, ids)]
    ]


def _n_bos(tokenizer: Any, ids: Sequence[int]) -> int:
    """How many BOS tokens there are in front: some tokenizers put one there, or two, whatever they are asked for."""
    return next((place for place, token in enumerate(ids) if token != tokenizer.bos_token_id), len(ids))


def _ends_by_length(text: str, ids: list[int], tokenizer: Any) -> list[int]:
    """Ends without offsets: token n ends where the shortest prefix of the text with n tokens ends."""
    ends, stop = [], 0
    for count in range(1, len(ids) + 1):
        while stop < len(text) and len(encode(tokenizer, [text[:stop]])[0]) < count:
            stop += 1
        ends.append(stop)
    return ends
