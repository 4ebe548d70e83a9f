"""What a trained model must reach on few-shot tasks to be shipped."""

from collections.abc import Mapping
from typing import Any

from transformers import PreTrainedTokenizerFast

from training.evaluation import EvaluationSet, accuracy_table, prompt_accuracy
from training.fit import Logits

GATE = 0.95
GATE_PROMPTS = 1024
GATE_SEED = 20_000_000
"""Seed of every few-shot prompt behind the gate and the card; nothing else uses it."""
CHECK_PROMPTS = 64
CHECK_SEED = 10_000_000
"""Seed of the training material and of the checks during training."""


def few_shot_gate(logits: Logits, tokenizer: PreTrainedTokenizerFast, material: EvaluationSet) -> dict[str, Any]:
    """`k`: task -> accuracies by demonstrations; `prompts`: task -> accuracy on clean prompts of `headcats run`."""
    return {
        "k": accuracy_table(logits, tokenizer, material, n=GATE_PROMPTS),
        "prompts": prompt_accuracy(logits, tokenizer, material, n=GATE_PROMPTS),
    }


def below_gate(gate: Mapping[str, Any]) -> dict[str, float]:
    """Tasks that miss the gate after the most demonstrations, with the lower of their two accuracies."""
    lower = {task: min(by_k[-1], gate["prompts"][task]) for task, by_k in gate["k"].items()}
    return {task: round(accuracy, 4) for task, accuracy in lower.items() if accuracy < GATE}
