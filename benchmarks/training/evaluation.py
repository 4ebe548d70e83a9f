"""Accuracy of a model on few-shot prompts, drawn from whole tasks and made as `headcats run` makes them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor
from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

from headcats.base.errors import DataError
from headcats.prompts.corruption import CORRUPTIONS, build_pairs
from headcats.prompts.pair import PromptPair
from headcats.prompts.template import ARROW
from headcats.statistics.random_streams import stream
from training.few_shot import WordPair, answer_positions
from training.fit import Logits

BATCH = 256


@dataclass(frozen=True, eq=False)
class EvaluationSet:
    """Material to measure a model with."""

    pairs: Mapping[str, Sequence[WordPair]]  # task -> (input, output) pairs
    seed: int  # seed of the prompts made of them
    n_demos: int  # most demonstrations of a prompt

    @cache  # noqa: B019 - an evaluation makes few sets, and both its numbers and its gate read these prompts
    def prompts(self, task: str, *, n: int, corruption: str) -> list[PromptPair]:
        """`n` pairs of clean and corrupted prompts, as `headcats run` makes them."""
        distractors = {name: pairs for name, pairs in self.pairs.items() if name != task}
        return build_pairs(
            task,
            self.pairs[task],
            distractors,
            n=n,
            seed=self.seed,
            template=ARROW,
            n_demos=self.n_demos,
            corruption=corruption,
        )


def accuracy_table(
    logits: Logits, tokenizer: PreTrainedTokenizerFast, material: EvaluationSet, *, n: int
) -> dict[str, list[float]]:
    """Accuracy of every task after 0 to `n_demos` demonstrations from the whole task, on `n` prompts per cell."""
    table = {}
    for task, pairs in material.pairs.items():
        draws = stream(material.seed, task, "gate")
        sequences = random_sequences(pairs, n, n_pairs=material.n_demos + 1, draws=draws)
        table[task] = accuracy_by_demonstrations(logits, sequences, tokenizer).tolist()
    return table


def prompt_accuracy(
    logits: Logits, tokenizer: PreTrainedTokenizerFast, material: EvaluationSet, *, n: int
) -> dict[str, float]:
    """Accuracy of every task on `n` clean prompts made as `headcats run` makes them.

    Another task answers all inputs of such a prompt differently, so only the demonstrations tell the two apart.
    """
    accuracy = {}
    for task in material.pairs:
        prompts = material.prompts(task, n=n, corruption="other_task")
        clean, answers = [pair.clean for pair in prompts], [pair.answer for pair in prompts]
        accuracy[task], _ = accuracy_of_prompts(logits, clean, answers, tokenizer)
    return accuracy


def measure(
    logits: Logits, tokenizer: PreTrainedTokenizerFast, material: EvaluationSet, *, n: int, n_corrupted: int
) -> dict[str, dict[str, Any]]:
    """All numbers of the card on few-shot tasks, per task, to four decimals.

    `k`: accuracy after 0 to `n_demos` demonstrations; per corruption, accuracy and mean probability of the right answer
    on corrupted prompts and on their clean twins.
    """
    measured: dict[str, dict[str, Any]] = {}
    for task, by_demonstrations in accuracy_table(logits, tokenizer, material, n=n).items():
        measured[task] = {"k": [round(accuracy, 4) for accuracy in by_demonstrations]}
        for corruption in CORRUPTIONS:
            try:
                prompts = material.prompts(task, n=n_corrupted, corruption=corruption)
            except DataError:
                continue  # no other task answers its inputs
            measured[task][corruption] = _corrupted_cell(logits, prompts, tokenizer)
    return measured


def _corrupted_cell(
    logits: Logits, pairs: Sequence[PromptPair], tokenizer: PreTrainedTokenizerFast
) -> dict[str, float | int]:
    answers = [pair.answer for pair in pairs]
    corrupted = accuracy_of_prompts(logits, [pair.corrupted for pair in pairs], answers, tokenizer)
    clean = accuracy_of_prompts(logits, [pair.clean for pair in pairs], answers, tokenizer)
    names = ("accuracy", "probability", "clean_accuracy", "clean_probability")
    return {name: round(number, 4) for name, number in zip(names, corrupted + clean, strict=True)} | {"n": len(pairs)}


def random_sequences(
    pairs: Sequence[WordPair], n: int, *, n_pairs: int, draws: np.random.Generator
) -> list[list[WordPair]]:
    """`n` random choices of `n_pairs` different pairs; the k-th of each serves as the query after k demonstrations."""
    return [[pairs[index] for index in draws.choice(len(pairs), n_pairs, replace=False)] for _ in range(n)]


def encode(texts: Sequence[str], tokenizer: PreTrainedTokenizerFast) -> Int[Tensor, "sequence pos"]:
    """Token ids of texts of equal length, after the boundary token."""
    rows = [[tokenizer.bos_token_id, *ids] for ids in tokenizer(list(texts))["input_ids"]]
    return torch.tensor(rows)


def accuracy_by_demonstrations(
    logits: Logits, sequences: Sequence[Sequence[WordPair]], tokenizer: PreTrainedTokenizerFast
) -> Float[np.ndarray, " k"]:
    """Share of right answers (argmax over the vocabulary) after k = 0, 1, 2, ... demonstrations."""
    tokens = encode(["".join(f"{word} → {output}\n" for word, output in pairs) for pairs in sequences], tokenizer)
    input_length = (tokens.shape[1] - 1) // len(sequences[0]) - 3
    answers = torch.from_numpy(answer_positions(len(sequences[0]), input_length=input_length))
    right = [
        logits(part[:, : int(answers[-1]) + 1], answers).argmax(-1) == part[:, answers + 1]
        for part in tokens.split(BATCH)
    ]
    return torch.cat(right).float().mean(0).numpy()


def accuracy_of_prompts(
    logits: Logits, prompts: Sequence[str], answers: Sequence[str], tokenizer: PreTrainedTokenizerFast
) -> tuple[float, float]:
    """Accuracy and mean probability of the answer after prompts of equal length."""
    tokens = encode(prompts, tokenizer)
    targets = encode(answers, tokenizer)[:, 1]
    last = torch.tensor([tokens.shape[1] - 1])
    scores = torch.cat([logits(part, last)[:, 0] for part in tokens.split(BATCH)]).float()
    probability = scores.softmax(-1).gather(1, targets[:, None])
    return (scores.argmax(-1) == targets).float().mean().item(), probability.mean().item()


def logits_of(model: LlamaForCausalLM) -> Logits:
    """The model's own forward pass, in its own precision."""

    @torch.no_grad()
    def logits(tokens: Tensor, answers: Tensor) -> Tensor:
        return model.lm_head(model.model(tokens, use_cache=False).last_hidden_state[:, answers])

    return logits
