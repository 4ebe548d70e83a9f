"""Accuracy of the model "mini-cognitive" on the questions of the suite `sentences`."""

import re
from collections.abc import Sequence

import torch
from transformers import PreTrainedTokenizerFast

from headcats.prompts.template import ARROW
from headcats.tasks.suites import suite
from training.evaluation import encode
from training.few_shot import WordPair
from training.fit import Logits
from training.mini_cognitive.material import questions

LONGEST_SENTENCE = 14
"""Tokens of an answer at most; the longest right one has 12, its newline included."""


def sentence_accuracy(
    logits: Logits, tokenizer: PreTrainedTokenizerFast, *, n: int | None = None
) -> dict[str, dict[str, float]]:
    """Share of right greedy answers to `sentences`: task -> on `n` `taught` and on `n` `untaught` questions."""
    tasks = {task.name: task for task in suite("sentences").tasks}
    return {
        task: {half: _share_right(logits, tokenizer, pairs[:n], tasks[task].exact) for half, pairs in halves.items()}
        for task, halves in questions().items()
    }


def _share_right(
    logits: Logits, tokenizer: PreTrainedTokenizerFast, pairs: Sequence[WordPair], pattern: str | None
) -> float:
    assert pattern is not None
    answers = greedy(logits, [ARROW.query(question) for question, _ in pairs], tokenizer)
    right = sum(
        exact(pattern, text) == exact(pattern, sentence) for text, (_, sentence) in zip(answers, pairs, strict=True)
    )
    return right / len(pairs)


def exact(pattern: str, text: str) -> str | None:
    """The exact answer in a sentence, None where there is none."""
    match = re.search(pattern, text)
    return match.group() if match else None


@torch.no_grad()
def greedy(logits: Logits, prompts: Sequence[str], tokenizer: PreTrainedTokenizerFast) -> list[str]:
    """What follows each of several prompts of equal length, up to the newline, by the largest logit."""
    tokens = encode(prompts, tokenizer)
    start = tokens.shape[1]
    for _ in range(LONGEST_SENTENCE):
        following = logits(tokens, torch.tensor([tokens.shape[1] - 1]))[:, 0].argmax(-1)
        tokens = torch.cat([tokens, following[:, None]], 1)
    return [tokenizer.decode(row).partition("\n")[0] for row in tokens[:, start:].tolist()]
