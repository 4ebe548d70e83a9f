"""Token ids of texts, where each token ends, and a tokenizer's two special tokens."""

import functools
import logging
from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise
from typing import Any

from headcats.base.errors import DataError, UnknownNameError, unknown_name_message

_log = logging.getLogger("headcats")
BOS = ("once", "own", "written")
"""Ways to begin a text: with the special tokens that the tokenizer itself writes there, and where it writes none
(that of GPT-2) its BOS once, if it has one, as TransformerLens does; with only what the tokenizer itself writes; or
with only what the text itself has, as those of chat templates do."""

UNKNOWN_WORD = "word unknown to the tokenizer"
"""Why a text with an unknown token is dropped."""
_PROBE = "a"
# Not verbose: we drop and count texts longer than the context ourselves, so transformers need not warn.
_PLAIN = {"add_special_tokens": False, "verbose": False}
_WHOLE = {"add_special_tokens": True, "verbose": False}


def encode(tokenizer: Any, texts: Sequence[str]) -> list[list[int]]:
    """Token ids of each text, without special tokens; BOS that a tokenizer puts in front unasked is taken off."""
    return _encode(tokenizer, texts, taken_off=_in_front(tokenizer, bos_of(tokenizer))) if texts else []


def bos_of(tokenizer: Any) -> list[int]:
    """The tokens to put in front of what `encode` gives: those that the tokenizer itself writes, else its BOS or []."""
    return _once(tokenizer, written_front(tokenizer))


def written_front(tokenizer: Any) -> list[int]:
    """Special tokens that the tokenizer writes in front of a text, not always its `bos_token`; [] if none."""
    # Most write nothing; and some cannot write every text.
    if not tokenizer([""], **_WHOLE)["input_ids"][0]:
        return []
    (whole,), (plain,) = (tokenizer([_PROBE], **options)["input_ids"] for options in (_WHOLE, _PLAIN))
    start = _place(list(whole), list(plain))
    return [] if start is None else list(whole[: start + _count(plain, {tokenizer.bos_token_id})])


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
    """The BOS tokens to put in front of each text, by its entry in `bos` (see `BOS`), its token ids and their ends."""
    if not texts:
        return []
    # Without offsets, which only fast tokenizers have, ends are searched for.
    is_fast = getattr(tokenizer, "is_fast", False)
    encoding = tokenizer(list(texts), **_PLAIN, **({"return_offsets_mapping": True} if is_fast else {}))
    asks = [text for text, where in zip(texts, bos, strict=True) if where == "own"]
    whole = iter(tokenizer(asks, **_WHOLE)["input_ids"] if asks else ())
    written = written_front(tokenizer)
    once = _once(tokenizer, written)
    taken_off = _in_front(tokenizer, once)
    encoded = []
    for place, (text, where, ids) in enumerate(zip(texts, bos, encoding["input_ids"], strict=True)):
        start = _count(ids, taken_off)
        front, rest = list(ids[:start]), list(ids[start:])
        ends = (
            [end for _, end in encoding["offset_mapping"][place][start:]]
            if is_fast
            else _ends_by_prefix(text, rest, tokenizer, taken_off)
        )
        if where == "own":
            front = _before(list(next(whole)), list(ids), text=text) + front
        if where == "written" and front != written:
            _tell(*(repr(tokenizer.decode(ids)) if ids else "no special token" for ids in (front, written)))
        encoded.append((list(once) if where == "once" else front, rest, ends))
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


def token_texts(tokenizer: Any, ids: Sequence[int], *, text: str) -> list[str]:
    """The text of each token of `ids`, with which `text` begins; decoded one by one if they are other tokens.

    A character of several tokens is the text of the first, the others are ""; lost blanks stand before the next token.
    """
    ((encoded, ends),) = encode_with_ends(tokenizer, [text])
    if encoded[: len(ids)] != list(ids):
        return [str(tokenizer.decode([token], clean_up_tokenization_spaces=False)) for token in ids]
    if len(ids) == len(encoded):
        ends[-1:] = [len(text)] if ends else []
    return [text[start:end] for start, end in pairwise([0, *ends[: len(ids)]])]


def check_bos(value: str) -> None:
    """Refuse what is none of `BOS` with an UnknownNameError."""
    if value not in BOS:
        raise UnknownNameError(unknown_name_message("bos", value, BOS))


def _before(whole: list[int], ids: list[int], *, text: str) -> list[int]:
    """The special tokens that stand before the ids of a text."""
    start = _place(whole, ids)
    if start is None:
        raise DataError(
            f"With its special tokens the tokenizer writes {text!r:.80} as {whole}, where the tokens of its words, "
            f'{ids}, are not to be found: take bos="once", which puts BOS in front of these.'
        )
    return whole[:start]


def _place(whole: list[int], ids: list[int]) -> int | None:
    """Where the ids begin in others; None if they are not there."""
    starts = range(len(whole) - len(ids) + 1)
    return next((start for start in starts if whole[start : start + len(ids)] == ids), None)


@functools.cache
def _tell(front: str, own: str) -> None:
    """Log, once, that other special tokens are asked for than the tokenizer writes."""
    _log.warning("A text begins with %s, as it is written; the tokenizer itself writes %s.", front, own)


def _once(tokenizer: Any, written: list[int]) -> list[int]:
    """Tokens that a tokenizer writes in front of a text, once."""
    bos = tokenizer.bos_token_id
    return written or ([] if bos is None else [bos])


def _in_front(tokenizer: Any, once: list[int]) -> set[int]:
    """Tokens that are no part of a text where they begin it; `once` stands in front."""
    return {tokenizer.bos_token_id, *once} - {None}


def _encode(tokenizer: Any, texts: Sequence[str], *, taken_off: Collection[int]) -> list[list[int]]:
    return [list(ids[_count(ids, taken_off) :]) for ids in tokenizer(list(texts), **_PLAIN)["input_ids"]]


def _count(ids: Sequence[int], taken_off: Collection[int]) -> int:
    """Count these in front: some tokenizers put BOS there, or two, whatever they are asked for."""
    return next((place for place, token in enumerate(ids) if token not in taken_off), len(ids))


def _ends_by_prefix(text: str, ids: list[int], tokenizer: Any, taken_off: Collection[int]) -> list[int]:
    """Ends without offsets: token n ends where the shortest prefix of the text ends that begins with the first n."""
    ends, stop = [], 0
    for count in range(1, len(ids) + 1):
        while stop < len(text) and _encode(tokenizer, [text[:stop]], taken_off=taken_off)[0][:count] != ids[:count]:
            stop += 1
        ends.append(stop)
    return ends
