"""Token ids of texts, where each token ends, and a tokenizer's two special tokens."""

from collections.abc import Sequence
from typing import Any

# Not verbose: we drop and count texts longer than the context ourselves, so transformers need not warn.
_PLAIN = {"add_special_tokens": False, "verbose": False}


def encode(tokenizer: Any, texts: Sequence[str]) -> list[list[int]]:
    """Token ids of each text, without special tokens."""
    if not texts:
        return []
    return [list(ids) for ids in tokenizer(list(texts), **_PLAIN)["input_ids"]]


def bos_of(tokenizer: Any) -> list[int]:
    """The BOS token to put in front of a prompt, as a list; [] if the tokenizer has none or adds it unasked."""
    bos = tokenizer.bos_token_id
    return [] if bos is None or encode(tokenizer, ["a"])[0][:1] == [bos] else [bos]


def unknown_id(tokenizer: Any) -> int | None:
    """Id of the unknown-word token; None if it is BOS or EOS as well (in GPT-2, end of text)."""
    unknown = tokenizer.unk_token_id
    return None if unknown in (tokenizer.bos_token_id, tokenizer.eos_token_id) else unknown


def encode_with_ends(tokenizer: Any, texts: Sequence[str]) -> list[tuple[list[int], list[int]]]:
    """Token ids of each text, and the character at which each token ends."""
    if not texts:
        return []
    if not getattr(tokenizer, "is_fast", False):
        return [
            (ids, _ends_by_length(text, ids, tokenizer))
            for text, ids in zip(texts, encode(tokenizer, texts), strict=True)
        ]
    encoding = tokenizer(list(texts), **_PLAIN, return_offsets_mapping=True)
    return [
        (list(ids), [end for _, end in offsets])
        for ids, offsets in zip(encoding["input_ids"], encoding["offset_mapping"], strict=True)
    ]


def _ends_by_length(text: str, ids: list[int], tokenizer: Any) -> list[int]:
    """Ends without offsets: token n ends where the shortest prefix of the text with n tokens ends."""
    ends, stop = [], 0
    for count in range(1, len(ids) + 1):
        while stop < len(text) and len(encode(tokenizer, [text[:stop]])[0]) < count:
            stop += 1
        ends.append(stop)
    return ends
