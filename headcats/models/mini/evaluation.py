"""Accuracy of a model on prompts that are given as text."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor
from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

from headcats.models.mini.fit import Logits
from headcats.models.mini.sequences import answer_positions
from headcats.prompts.pair import PromptPair

WordPair = tuple[str, str]

BATCH = 256


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
    """Share of right answers (argmax over the vocabulary) after k = 0, 1, 2, ... demonstrations.

    Args:
        logits: The model.
        sequences: (input, output) pairs of one task; the k-th of each is the query after k demonstrations.
        tokenizer: Its tokenizer.
    """
    tokens = encode(["".join(f"{given} → {output}\n" for given, output in pairs) for pairs in sequences], tokenizer)
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


def corrupted_cell(
    logits: Logits, pairs: Sequence[PromptPair], tokenizer: PreTrainedTokenizerFast
) -> dict[str, float | int]:
    """What corrupted prompts leave of the right answers, beside their clean twins.

    Returns:
        `accuracy` and `probability` (mean, of the right answer) on corrupted prompts, `clean_accuracy` and
        `clean_probability` on clean ones, to four decimals, and `n`, the number of prompts.
    """
    answers = [pair.answer for pair in pairs]
    corrupted = accuracy_of_prompts(logits, [pair.corrupted for pair in pairs], answers, tokenizer)
    clean = accuracy_of_prompts(logits, [pair.clean for pair in pairs], answers, tokenizer)
    names = ("accuracy", "probability", "clean_accuracy", "clean_probability")
    return {name: round(number, 4) for name, number in zip(names, corrupted + clean, strict=True)} | {"n": len(pairs)}
