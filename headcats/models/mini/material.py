"""The suite `icl` as training and measuring material for the model "mini"."""

import numpy as np
from transformers import PreTrainedTokenizerFast

from headcats.models.mini.sequences import LIST_ANSWERS, MiniSettings, Sequences, held_out
from headcats.models.mini.tokenizer import make_tokenizer, words_of
from headcats.random_streams import stream
from headcats.tasks import suite

SUITE = "icl"
CHECK_SEED = 10_000_000
"""Seed of the training material and of the checks during training."""
GATE_SEED = 20_000_000
"""Seed of every prompt behind the gate and the card; nothing else uses it."""
LISTS = 6000
"""Lists generated for a list task; about an eighth of them are held out of training and serve to measure."""

WordPair = tuple[str, str]


def suite_pairs(seed: int) -> dict[str, list[WordPair]]:
    """(input, output) pairs of every task of the suite; generated lists follow `seed`."""
    pairs = {}
    for task in suite(SUITE).tasks:
        # The suite's own tasks are pairs of words, never finished prompts.
        pairs[task.name] = [(str(given), str(output)) for given, output in task.pairs(LISTS, seed=seed)]  # type: ignore[misc]
    return pairs


def suite_categories() -> dict[str, str]:
    """Task name -> category, in the order of the suite."""
    return {task.name: task.category for task in suite(SUITE).tasks}


def suite_tokenizer() -> PreTrainedTokenizerFast:
    """The tokenizer over every word of the suite."""
    words = set[str]().union(*map(words_of, suite_pairs(CHECK_SEED).values()))
    return make_tokenizer(words, n_positions=MiniSettings().n_positions)


def suite_sequences(tokenizer: PreTrainedTokenizerFast, seed: int) -> Sequences:
    """Training sequences of the suite."""
    pairs = suite_pairs(CHECK_SEED)
    tables = {task: pairs[task] for task in pairs if task not in LIST_ANSWERS}
    items = words_of((given, "0") for given, _ in pairs["list_first"])
    words = sorted(word for word in items if not word.isdigit())
    draws = stream(seed, "mini", "sequences")
    return Sequences(tables, words, tokenizer.get_vocab(), draws, settings=MiniSettings())


def fresh_pairs(tokenizer: PreTrainedTokenizerFast, seed: int) -> dict[str, list[WordPair]]:
    """Pairs to measure with: whole tables, and lists that no training sequence held."""
    vocabulary = tokenizer.get_vocab()
    pairs = suite_pairs(seed)
    for task in LIST_ANSWERS:
        items = np.array([[vocabulary[item] for item in given.split(", ")] for given, _ in pairs[task]])
        pairs[task] = [pair for pair, kept in zip(pairs[task], held_out(items), strict=True) if kept]
    return pairs
