"""A transformers model made here, as one that headcats loads: every word is one token."""

from collections.abc import Sequence
from typing import Any

from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from headcats.models.adapter import HookedModel
from headcats.models.conversion import build_bridge


def word_model(hf: Any, words: Sequence[str], *, name: str) -> HookedModel:
    """The model with a tokenizer of its words."""
    tokenizer = word_tokenizer(words, name=name)
    # Set by save_pretrained; the bridge needs it to know the architecture.
    hf.config.architectures = [type(hf).__name__]
    hf.config._attn_implementation = "eager"
    bridge = build_bridge(hf.eval(), tokenizer, name=name, device=hf.device)
    return HookedModel(bridge, name=name, tokenizer=tokenizer)


def word_tokenizer(words: Sequence[str], *, name: str) -> PreTrainedTokenizerFast:
    """A tokenizer of words that are separated by spaces; the first one begins every prompt."""
    vocabulary = {word: number for number, word in enumerate(words)}
    backend = Tokenizer(models.WordLevel(vocabulary, unk_token=words[0]))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, bos_token=words[0], unk_token=words[0])
    # With these two entries, or the bridge would load the tokenizer once more from its name.
    tokenizer.init_kwargs |= {"name_or_path": name, "add_bos_token": True}
    return tokenizer
