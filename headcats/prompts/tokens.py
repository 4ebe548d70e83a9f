"""What a tokenizer makes of a text: ids, where each token ends, and its two special tokens."""

from collections.abc import Sequence
from typing import Any

# Not verbose: what is longer than the context is dropped and counted, so transformers need not warn of it.
_PLAIN = {"add_special_tokens": False, "verbose": False}


def encode(tokenizer: Any, texts: Sequence[str]) -> list[list[int]]:
    """Token ids of each text, without special tokens."""
    if not texts:
        return []
    return [list(ids) for ids in tokenizer(list(texts), **_PLAIN)["input_ids"]]


def bos_of(tokenizer: Any) -> list[int]:
    """The token in front of every prompt, [] for a tokenizer without one.

    A tokenizer that puts it there although no special tokens are asked for would double it.
    """
    bos = tokenizer.bos_token_id
    return [] if bos is None or encode(tokenizer, ["a"])[0][:1] == [bos] else [bos]


def unknown_id(tokenizer: Any) -> int | None:
    """Id of the unknown-word token; None where it is also an ordinary token (GPT-2 uses its end of text for both)."""
    unknown = tokenizer.unk_token_id
    return None if unknown in (tokenizer.bos_token_id, tokenizer.eos_token_id) else unknown


def encode_with_ends(tokenizer: Any, texts: Sequence[str]) -> list[tuple[list[int], list[int]]]:
    """Token ids of each text, and where each token ends in it."""
    if not texts:
        return []
    if not getattr(tokenizer, "is_fast", False):
        return [
            (ids, _ends_by_length(text, ids, tokenizer))
            for text, ids in zip(texts, encode(tokenizer, texts), strict=True)
        ]
    found = tokenizer(list(texts), **_PLAIN, return_offsets_mapping=True)
    return [
        (list(ids), [end for _, end in offsets])
        for ids, offsets in zip(found["input_ids"], found["offset_mapping"], strict=True)
    ]


def _ends_by_length(text: str, ids: list[int], tokenizer: Any) -> list[int]:
    """Without offsets: a token ends where the shortest beginning of the text that holds so many tokens ends."""
    ends, stop = [], 0
    for count in range(1, len(ids) + 1):
        while stop < len(text) and len(encode(tokenizer, [text[:stop]])[0]) < count:
            stop += 1
        ends.append(stop)
    return ends
