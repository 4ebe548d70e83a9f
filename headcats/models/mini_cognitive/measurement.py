"""The numbers of the gate and of the card of the model "mini-cognitive"."""

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

import torch
from transformers import PreTrainedTokenizerFast

from headcats.errors import DataError
from headcats.models.mini.evaluation import (
    accuracy_by_demonstrations,
    accuracy_of_prompts,
    corrupted_cell,
    encode,
    random_sequences,
)
from headcats.models.mini.fit import Logits
from headcats.models.mini_cognitive.material import GATE_SEED, WordPair, fresh_pairs, questions
from headcats.prompts.corruption import CORRUPTIONS, build_pairs
from headcats.prompts.pair import PromptPair
from headcats.prompts.template import ARROW
from headcats.random_streams import stream
from headcats.tasks import suite

N_DEMOS = 4
LONGEST_SENTENCE = 14
"""Tokens of an answer at most; the longest right one has 12, its newline included."""


@cache
def pairs_to_measure(seed: int) -> dict[str, list[WordPair]]:
    """Every task of `cognitive`: pairs that were never trained in it, or a whole small task."""
    return {task.name: fresh_pairs(task, seed) for task in suite("cognitive").tasks}


def accuracy_table(logits: Logits, tokenizer: PreTrainedTokenizerFast, *, n: int, seed: int) -> dict[str, list[float]]:
    """Accuracy of every task of `cognitive` after 0 to `N_DEMOS` demonstrations, on `n` prompts a cell."""
    return {
        task: accuracy_by_demonstrations(
            logits,
            random_sequences(pairs, n, n_pairs=N_DEMOS + 1, draws=stream(seed, task, "gate")),
            tokenizer,
        ).tolist()
        for task, pairs in pairs_to_measure(seed).items()
    }


def prompt_accuracy(logits: Logits, tokenizer: PreTrainedTokenizerFast, *, n: int, seed: int) -> dict[str, float]:
    """Accuracy of every task after `N_DEMOS` demonstrations, on `n` clean prompts made as `headcats run` makes them.

    All inputs of a prompt are such as one other task answers differently, so only the demonstrations say which of the
    two is asked for.
    """
    accuracy = {}
    for task in pairs_to_measure(seed):
        built = _prompts(task, n=n, seed=seed, corruption="other_task")
        clean, answers = [pair.clean for pair in built], [pair.answer for pair in built]
        accuracy[task], _ = accuracy_of_prompts(logits, clean, answers, tokenizer)
    return accuracy


def sentence_accuracy(
    logits: Logits, tokenizer: PreTrainedTokenizerFast, *, n: int | None = None
) -> dict[str, dict[str, float]]:
    """Share of the questions of `sentences` whose greedy answer holds the right exact answer.

    Args:
        logits: The model.
        tokenizer: Its tokenizer.
        n: So many `taught` and so many `untaught` questions of every task; all of them where it is `None`.

    Returns:
        Task -> accuracy on the questions that were `taught` and on those that were `untaught`.
    """
    tasks = {task.name: task for task in suite("sentences").tasks}
    return {
        task: {half: _share_right(logits, tokenizer, pairs[:n], tasks[task].exact) for half, pairs in halves.items()}
        for task, halves in questions().items()
    }


def _share_right(
    logits: Logits, tokenizer: PreTrainedTokenizerFast, pairs: Sequence[WordPair], pattern: str | None
) -> float:
    assert pattern is not None
    said = greedy(logits, [ARROW.query(given) for given, _ in pairs], tokenizer)
    right = sum(
        exact(pattern, text) == exact(pattern, sentence) for text, (_, sentence) in zip(said, pairs, strict=True)
    )
    return right / len(pairs)


def exact(pattern: str, text: str) -> str | None:
    """The exact answer in a sentence, None where there is none."""
    found = re.search(pattern, text)
    return found.group() if found else None


@torch.no_grad()
def greedy(logits: Logits, prompts: Sequence[str], tokenizer: PreTrainedTokenizerFast) -> list[str]:
    """What follows each of several prompts of equal length, up to the newline, by the largest logit."""
    tokens = encode(prompts, tokenizer)
    start = tokens.shape[1]
    for _ in range(LONGEST_SENTENCE):
        following = logits(tokens, torch.tensor([tokens.shape[1] - 1]))[:, 0].argmax(-1)
        tokens = torch.cat([tokens, following[:, None]], 1)
    return [tokenizer.decode(row).partition("\n")[0] for row in tokens[:, start:].tolist()]


def measure(
    logits: Logits, tokenizer: PreTrainedTokenizerFast, *, n: int, n_corrupted: int
) -> dict[str, dict[str, Any]]:
    """All numbers of the card on `cognitive`, per task.

    Returns:
        Task -> `k` (accuracy after 0 to 4 demonstrations) and, per corruption that the task has, `accuracy` and
        `probability` (mean, of the right answer) after corrupted prompts of 4 demonstrations, `clean_accuracy` and
        `clean_probability` after their clean twins, and `n`, the number of prompts, made as `headcats run` makes them.
    """
    table = accuracy_table(logits, tokenizer, n=n, seed=GATE_SEED)
    measured: dict[str, dict[str, Any]] = {}
    for task in table:
        measured[task] = {"k": [round(accuracy, 4) for accuracy in table[task]]}
        for corruption in CORRUPTIONS:
            try:
                built = _prompts(task, n=n_corrupted, seed=GATE_SEED, corruption=corruption)
            except DataError:
                continue  # no other task answers its inputs
            measured[task][corruption] = corrupted_cell(logits, built, tokenizer)
    return measured


@cache
def _prompts(task: str, *, n: int, seed: int, corruption: str) -> list[PromptPair]:
    pairs = pairs_to_measure(seed)
    others = {name: other for name, other in pairs.items() if name != task}
    return build_pairs(
        task, pairs[task], others, n=n, seed=seed, template=ARROW, n_demos=N_DEMOS, corruption=corruption
    )
