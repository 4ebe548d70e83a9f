"""The word-level tokenizer of the bundled model: every word of the suite is one token."""

from collections.abc import Iterable

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

    Args:
        words: The vocabulary; ids follow the sorted order after the special tokens.
        n_positions: Longest prompt of the model, in tokens.
    """
    vocabulary = [*SPECIAL_TOKENS, *sorted(set(words) - set(SPECIAL_TOKENS))]
    tokenizer = Tokenizer(models.WordLevel({word: token for token, word in enumerate(vocabulary)}, unk_token=UNKNOWN))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(f"[{NEWLINE}{ARROW}{COMMA}]"), "isolated"),
            pre_tokenizers.Split(Regex("^ +| +$"), "removed"),
        ]
    )
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace(ARROW, f" {ARROW} "), decoders.Replace(COMMA, f"{COMMA} "), decoders.Fuse()]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token=BOUNDARY,
        eos_token=BOUNDARY,
        pad_token=BOUNDARY,
        unk_token=UNKNOWN,
        model_max_length=n_positions,
        clean_up_tokenization_spaces=False,
    )
