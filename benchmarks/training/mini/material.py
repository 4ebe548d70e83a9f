"""The suite `icl` as training and measuring material for the model "mini"."""

import numpy as np
from transformers import PreTrainedTokenizerFast

from headcats.statistics.random_streams import stream
from headcats.tasks.suites import suite
from training.evaluation import EvaluationSet
from training.few_shot import WordPair
from training.gate import CHECK_SEED
from training.mini.sequences import LIST_ANSWERS, MiniSettings, Sequences, held_out
from training.tokenizer import make_tokenizer, words_of

SUITE = "icl"
N_DEMOS = 5
LISTS = 6000
"""Lists generated for a list task; about an eighth of them are held out of training and serve to measure."""


def suite_pairs(seed: int) -> dict[str, list[WordPair]]:
    """(input, output) pairs of every task of the suite; generated lists follow `seed`."""
    return {
        task.name: [(str(word), str(output)) for word, output in task.pairs(LISTS, seed=seed)]
        for task in suite(SUITE).tasks
    }


def suite_tokenizer() -> PreTrainedTokenizerFast:
    """The tokenizer over every word of the suite."""
    words = set[str]().union(*map(words_of, suite_pairs(CHECK_SEED).values()))
    return make_tokenizer(words, n_positions=MiniSettings().n_positions)


def suite_sequences(tokenizer: PreTrainedTokenizerFast, seed: int) -> Sequences:
    """Training sequences of the suite."""
    pairs = suite_pairs(CHECK_SEED)
    tables = {task: pairs[task] for task in pairs if task not in LIST_ANSWERS}
    items = words_of((text, "0") for text, _ in pairs["list_first"])
    words = sorted(word for word in items if not word.isdigit())
    draws = stream(seed, "mini", "sequences")
    return Sequences(tables, words, tokenizer.get_vocab(), draws, settings=MiniSettings())


def evaluation_set(tokenizer: PreTrainedTokenizerFast, seed: int) -> EvaluationSet:
    """Whole tables, and lists that no training sequence held."""
    vocabulary = tokenizer.get_vocab()
    pairs = suite_pairs(seed)
    for task in LIST_ANSWERS:
        items = np.array([[vocabulary[item] for item in text.split(", ")] for text, _ in pairs[task]])
        pairs[task] = [pair for pair, fresh in zip(pairs[task], held_out(items), strict=True) if fresh]
    return EvaluationSet(pairs, seed, N_DEMOS)
