"""Tokens as text: the piece of a prompt that each of them stands for."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from headcats.prompts.tokens import encode_with_ends


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
