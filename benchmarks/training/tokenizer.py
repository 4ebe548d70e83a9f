"""The word-level tokenizers of the bundled models: every word of their suites is one token."""

from collections.abc import Iterable
from typing import Any

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

BOUNDARY, UNKNOWN, NEWLINE, ARROW, COMMA = "<|endoftext|>", "<|unk|>", "\n", "→", ","
SPECIAL_TOKENS = (BOUNDARY, UNKNOWN, NEWLINE, ARROW, COMMA)


def words_of(pairs: Iterable[tuple[str, str]]) -> set[str]:
    """Every word of (input, output) pairs; an input that is a list gives its items."""
    return {word.strip() for pair in pairs for text in pair for word in text.split(COMMA)}


def make_tokenizer(words: Iterable[str], *, n_positions: int) -> PreTrainedTokenizerFast:
    """A tokenizer with one token per word.

    Text is cut at arrows, newlines and commas, each a token of its own, and the spaces around a piece are dropped:
    `x → y` and `x→y` are the same tokens. A piece with inner spaces (`Addis Ababa`) is one word. Nothing is prepended:
    whoever encodes a prompt puts the boundary token first.
    """
    return _tokenizer(
        [*SPECIAL_TOKENS, *sorted(set(words) - set(SPECIAL_TOKENS))],
        cuts=[
            pre_tokenizers.Split(Regex(f"[{NEWLINE}{ARROW}{COMMA}]"), "isolated"),
            pre_tokenizers.Split(Regex("^ +| +$"), "removed"),
        ],
        joins=[decoders.Replace(ARROW, f" {ARROW} "), decoders.Replace(COMMA, f"{COMMA} "), decoders.Fuse()],
        n_positions=n_positions,
    )


def make_space_tokenizer(words: Iterable[str], *, n_positions: int) -> PreTrainedTokenizerFast:
    """A tokenizer with one token per word, where words have spaces between them.

    Text is cut at arrows and newlines, each a token of its own, and at spaces, which are dropped: ` word` is the token
    `word`. Decoding puts single spaces between words, and none at a newline. Nothing is prepended.
    """
    special = [token for token in SPECIAL_TOKENS if token != COMMA]
    return _tokenizer(
        [*special, *sorted(set(words) - set(special))],
        cuts=[
            pre_tokenizers.Split(Regex(f"[{NEWLINE}{ARROW}]"), "isolated"),
            pre_tokenizers.Split(Regex(" +"), "removed"),
        ],
        joins=[
            decoders.Replace(Regex("^"), " "),
            decoders.Fuse(),
            decoders.Replace(f" {NEWLINE}", NEWLINE),
            decoders.Replace(f"{NEWLINE} ", NEWLINE),
            decoders.Strip(" ", 1, 0),
        ],
        n_positions=n_positions,
    )


def _tokenizer(
    vocabulary: list[str], *, cuts: list[Any], joins: list[Any], n_positions: int
) -> PreTrainedTokenizerFast:
    tokenizer = Tokenizer(models.WordLevel({word: token for token, word in enumerate(vocabulary)}, unk_token=UNKNOWN))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(cuts)
    tokenizer.decoder = decoders.Sequence(joins)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token=BOUNDARY,
        eos_token=BOUNDARY,
        pad_token=BOUNDARY,
        unk_token=UNKNOWN,
        model_max_length=n_positions,
        clean_up_tokenization_spaces=False,
    )
