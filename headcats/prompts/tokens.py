"""Token ids of texts, where each token ends, and a tokenizer's two special tokens."""

from collections.abc import Iterable, Sequence
from typing import Any

from headcats.errors import DataError, UnknownNameError
from headcats.registry import unknown_name_message

BOS = ("once", "own", "written")
"""Where BOS stands: in front of the text exactly once, if the tokenizer has one; as the tokenizer itself puts it there
unless told otherwise (that of Llama does, that of GPT-2 does not); or only where the text itself has it, as those of
chat templates do."""

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
    return [(ids, ends) for _, ids, ends in encode_with_bos(tokenizer, texts, bos=["once"] * len(texts))]


def encode_with_bos(
    tokenizer: Any, texts: Sequence[str], *, bos: Sequence[str]
) -> list[tuple[list[int], list[int], list[int]]]:
    """The BOS tokens to put in front of each text, and what `encode_with_ends` gives of it.

    `bos` says where each text has it (see `BOS`). With "written", BOS and other tokens together are what the tokenizer
    makes of the text as it is; with "own", what it makes of it with its special tokens, without any behind the text: a
    model that has read EOS does not go on.
    """
    if not texts:
        return []
    # Without offsets, which only fast tokenizers have, ends are searched for.
    is_fast = getattr(tokenizer, "is_fast", False)
    encoding = tokenizer(list(texts), **_PLAIN, **({"return_offsets_mapping": True} if is_fast else {}))
    asks = [text for text, where in zip(texts, bos, strict=True) if where == "own"]
    whole = iter(tokenizer(asks, verbose=False)["input_ids"] if asks else ())
    encoded = []
    for place, (text, where, ids) in enumerate(zip(texts, bos, encoding["input_ids"], strict=True)):
        start = _n_bos(tokenizer, ids)
        front, rest = list(ids[:start]), list(ids[start:])
        ends = (
            [end for _, end in encoding["offset_mapping"][place][start:]]
            if is_fast
            else _ends_by_prefix(text, rest, tokenizer)
        )
        if where == "own":
            front = _before(list(next(whole)), list(ids), text=text) + front
        encoded.append((bos_of(tokenizer) if where == "once" else front, rest, ends))
    return encoded


def unknown_text(tokenizer: Any, texts: Iterable[str]) -> str:
    """The first piece of these texts that the tokenizer has no token for; "" if there is none."""
    unknown = unknown_id(tokenizer)
    for text in texts:
        ((ids, ends),) = encode_with_ends(tokenizer, [text])
        if unknown in ids:
            place = ids.index(unknown)
            return text[ends[place - 1] if place else 0 : ends[place]].strip()
    return ""


def check_bos(value: str) -> None:
    """Refuse what is none of `BOS` with an UnknownNameError."""
    if value not in BOS:
        raise UnknownNameError(unknown_name_message("bos", value, BOS))


def _before(whole: list[int], ids: list[int], *, text: str) -> list[int]:
    """The special tokens that stand before the ids of a text."""
    for start in range(len(whole) - len(ids) + 1):
        if whole[start : start + len(ids)] == ids:
            return whole[:start]
    raise DataError(
        f"With its special tokens the tokenizer writes {text!r:.80} as {whole}, where the tokens of its words, {ids}, "
        'are not to be found: take bos="once", which puts BOS in front of these.'
    )


def _n_bos(tokenizer: Any, ids: Sequence[int]) -> int:
    """How many BOS tokens there are in front: some tokenizers put one there, or two, whatever they are asked for."""
    return next((place for place, token in enumerate(ids) if token != tokenizer.bos_token_id), len(ids))


def _ends_by_prefix(text: str, ids: list[int], tokenizer: Any) -> list[int]:
    """Ends without offsets: token n ends where the shortest prefix of the text ends that begins with the first n.

    Not the shortest with n tokens: `<|im` is several, and `<|im_start|>` is one.
    """
    ends, stop = [], 0
    for count in range(1, len(ids) + 1):
        while stop < len(text) and encode(tokenizer, [text[:stop]])[0][:count] != ids[:count]:
            stop += 1
        ends.append(stop)
    return ends
