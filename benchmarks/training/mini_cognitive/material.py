"""The suites `cognitive` and `sentences` as training and measuring material for the model "mini-cognitive"."""

import zlib
from functools import cache

from transformers import PreTrainedTokenizerFast

from headcats.papers.token_probe.sentences import taught, untaught
from headcats.statistics.random_streams import stream
from headcats.tasks.definition import Task
from headcats.tasks.suites import suite
from training.evaluation import EvaluationSet
from training.few_shot import WordPair
from training.gate import CHECK_SEED
from training.mini_cognitive.sequences import CognitiveSequences, CognitiveSettings
from training.tokenizer import make_space_tokenizer

N_DEMOS = 4
TRAINED_INPUTS = 40_000
"""Most inputs of a few-shot task that are trained."""
MEASURED_INPUTS = 6_000
"""Most inputs of a few-shot task that are drawn to measure it, before the trained ones among them are left out."""
LARGE = 2_000
"""A task with more inputs than this is measured on inputs that its training sequences never hold; a smaller one, like a
table, is learned whole, and what is new in a prompt is the combination of demonstrations and query."""


def held_out(text: str) -> bool:
    """Whether the training sequences of large tasks leave this input out: an arbitrary eighth of all.

    Small tasks are trained on it nevertheless: the progressions among the inputs of `second_item` are also those of
    `next_term` and `previous_term`, which answer them otherwise.
    """
    return zlib.crc32(text.encode("utf-8")) % 8 == 0


def few_shot_pairs(task: Task, n: int, seed: int) -> list[WordPair]:
    """Up to `n` (input, output) pairs of a task of the suite `cognitive`."""
    return [(str(text), str(output)) for text, output in task.pairs(n, seed=seed)]


def trained_pairs(task: Task) -> list[WordPair]:
    """What its few-shot sequences are made of: a whole small task, or a large one without the held-out inputs."""
    pairs = few_shot_pairs(task, TRAINED_INPUTS, CHECK_SEED)
    return [pair for pair in pairs if len(pairs) <= LARGE or not held_out(pair[0])]


def fresh_pairs(task: Task, seed: int) -> list[WordPair]:
    """Pairs to measure with: a whole small task, or inputs of a large one that its training left out."""
    pairs = few_shot_pairs(task, MEASURED_INPUTS, seed)
    return [pair for pair in pairs if len(pairs) <= LARGE or held_out(pair[0])]


@cache
def evaluation_set(seed: int) -> EvaluationSet:
    """The fresh pairs of every task of `cognitive`."""
    return EvaluationSet({task.name: fresh_pairs(task, seed) for task in suite("cognitive").tasks}, seed, N_DEMOS)


def questions() -> dict[str, dict[str, list[WordPair]]]:
    """Every task of the suite `sentences`: its questions and sentences, those `taught` and those `untaught`."""
    return {
        task.name: {"taught": taught(task.name), "untaught": untaught(task.name)} for task in suite("sentences").tasks
    }


def suite_tokenizer() -> PreTrainedTokenizerFast:
    """The tokenizer over every word of both suites."""
    material = [few_shot_pairs(task, MEASURED_INPUTS, CHECK_SEED) for task in suite("cognitive").tasks]
    material += [pairs for halves in questions().values() for pairs in halves.values()]
    words = {word for pairs in material for pair in pairs for text in pair for word in text.split()}
    return make_space_tokenizer(words, n_positions=CognitiveSettings().n_positions)


def suite_sequences(tokenizer: PreTrainedTokenizerFast, seed: int) -> CognitiveSequences:
    """Training sequences of both suites."""
    return CognitiveSequences(
        {task.name: trained_pairs(task) for task in suite("cognitive").tasks},
        {task: halves["taught"] for task, halves in questions().items()},
        tokenizer.get_vocab(),
        stream(seed, "mini-cognitive", "sequences"),
        settings=CognitiveSettings(),
    )
