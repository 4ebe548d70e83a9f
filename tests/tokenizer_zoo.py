"""Small tokenizers on the layouts of real `tokenizer.json` files, trained on the words of the bundled suite.

Their vocabularies are so small that many words are several tokens.
"""

import functools
import json
from collections.abc import Callable, Sequence
from typing import Any

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

import headcats as hc
from headcats.tasks.definition import word_pairs

N_WORDS = 700
"""Entries of a vocabulary, beside single bytes."""
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
LLAMA3_SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
    r"|\s+(?!\S)|\s+"
)
"""How the tokenizer of Llama 3 splits a text: at most three digits together."""
SPLIT_DIGITS = pre_tokenizers.Digits(individual_digits=True)


@functools.cache
def corpus() -> tuple[str, ...]:
    """Every word of the suite `icl`, and its marks."""
    tasks = hc.suite("icl").tasks
    words = {word for task in tasks for pair in word_pairs(task, seed=0) for word in pair}
    return ("→", "→", "Q:", "A:", *sorted(words))


def byte_level(
    *, split: str | None = None, special: str, front: Sequence[str] = (), **options: Any
) -> PreTrainedTokenizerFast:
    """As of GPT-2 (no `split`) and Llama 3: bytes, with the space at the beginning of a token.

    It writes `front` before a text; its `bos_token` is `special`, "" for none.
    """
    backend = Tokenizer(models.BPE(**options))
    level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=split is None)
    parts = [level] if split is None else [pre_tokenizers.Split(Regex(split), "isolated"), level]
    backend.pre_tokenizer = pre_tokenizers.Sequence(parts)
    backend.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=N_WORDS + 256,
        special_tokens=list(dict.fromkeys([*filter(None, [special]), *front])),
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    backend.train_from_iterator([f" {word}" for word in corpus()], trainer)
    ids = [(token, backend.token_to_id(token)) for token in dict.fromkeys(front)]
    # As lists of pieces: a `[gMASK]` is none of the forms that a template in one text may have.
    bos = processors.TemplateProcessing(single=[*front, "$A"], special_tokens=ids)
    backend.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), bos])
    end = {} if front else {"eos_token": special, "unk_token": special}
    return PreTrainedTokenizerFast(tokenizer_object=backend, bos_token=special or None, **end)


def sentencepiece_bpe(*, prefix_space: bool) -> PreTrainedTokenizerFast:
    """As of Llama 2 and, without a prefix space, Gemma: `▁` for spaces, single digits, bytes for what is unknown."""
    trained = Tokenizer(models.BPE())
    trained.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Metaspace(), SPLIT_DIGITS])
    trained.train_from_iterator(corpus(), trainers.BpeTrainer(vocab_size=N_WORDS, show_progress=False))
    model = json.loads(trained.to_str())["model"]
    special = ["<unk>", "<s>", "</s>", *BYTES]
    vocab = {piece: number for number, piece in enumerate([*special, *model["vocab"]])}
    merges = [tuple(merge) for merge in model["merges"]]
    backend = Tokenizer(models.BPE(vocab, merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    spaces = normalizers.Replace(" ", "▁")
    backend.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), spaces] if prefix_space else [spaces])
    backend.decoder = _sentencepiece_decoder(prefix_space)
    backend.post_processor = _begin()
    return PreTrainedTokenizerFast(tokenizer_object=backend, bos_token="<s>", eos_token="</s>", unk_token="<unk>")


def unigram() -> PreTrainedTokenizerFast:
    """As of SentencePiece's Unigram: `▁` for spaces, single digits, bytes for what is unknown."""
    splits = pre_tokenizers.Sequence([pre_tokenizers.Metaspace(), SPLIT_DIGITS])
    trained = Tokenizer(models.Unigram())
    trained.pre_tokenizer = splits
    trainer = trainers.UnigramTrainer(
        vocab_size=N_WORDS, unk_token="<unk>", special_tokens=["<unk>"], show_progress=False
    )
    trained.train_from_iterator(corpus(), trainer)
    pieces = [(piece, score) for piece, score in json.loads(trained.to_str())["model"]["vocab"] if piece != "<unk>"]
    special = [(piece, 0.0) for piece in ["<unk>", "<s>", "</s>", *BYTES]]
    backend = Tokenizer(models.Unigram([*special, *pieces], unk_id=0, byte_fallback=True))
    backend.pre_tokenizer = splits
    backend.decoder = _sentencepiece_decoder(prefix_space=True)
    backend.post_processor = _begin()
    return PreTrainedTokenizerFast(tokenizer_object=backend, bos_token="<s>", eos_token="</s>", unk_token="<unk>")


def wordpiece() -> PreTrainedTokenizerFast:
    """As of BERT, cased: whitespace, the newline too, is lost, and there is no BOS."""
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    backend = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    backend.normalizer = normalizers.BertNormalizer(lowercase=False)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.decoder = decoders.WordPiece()
    trainer = trainers.WordPieceTrainer(vocab_size=N_WORDS, special_tokens=special, show_progress=False)
    backend.train_from_iterator(corpus(), trainer)
    ends = [(token, backend.token_to_id(token)) for token in ("[CLS]", "[SEP]")]
    backend.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=ends)
    return PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]")


def _sentencepiece_decoder(prefix_space: bool) -> Any:
    steps = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    return decoders.Sequence([*steps, *([decoders.Strip(" ", 1, 0)] if prefix_space else [])])


def _begin() -> Any:
    return processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])


ZOO: dict[str, Callable[[], PreTrainedTokenizerFast]] = {
    "byte-level": lambda: byte_level(special="<|endoftext|>"),
    "byte-level, three digits, BOS": lambda: byte_level(
        split=LLAMA3_SPLIT, special="<|begin_of_text|>", front=["<|begin_of_text|>"], ignore_merges=True
    ),
    "byte-level, two BOS": lambda: byte_level(special="<s>", front=["<s>", "<s>"]),
    "byte-level, BOS is not bos_token": lambda: byte_level(special="</s>", front=["<s>"]),
    "byte-level, two in front, no bos_token": lambda: byte_level(special="", front=["[gMASK]", "<sop>"]),
    "SentencePiece BPE": lambda: sentencepiece_bpe(prefix_space=True),
    "SentencePiece BPE, no prefix space": lambda: sentencepiece_bpe(prefix_space=False),
    "SentencePiece Unigram": unigram,
    "WordPiece": wordpiece,
}
"""Name -> trains it, in less than a second."""


@functools.cache
def trained(name: str) -> PreTrainedTokenizerFast:
    """One of the zoo, trained once; not to be changed."""
    return ZOO[name]()
