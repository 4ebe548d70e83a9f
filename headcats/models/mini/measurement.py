"""The numbers of the gate and of the card of the model "mini"."""

from typing import Any

from transformers import PreTrainedTokenizerFast

from headcats.models.mini.evaluation import (
    accuracy_by_demonstrations,
    accuracy_of_prompts,
    corrupted_cell,
    random_sequences,
)
from headcats.models.mini.fit import Logits
from headcats.models.mini.material import GATE_SEED, WordPair, fresh_pairs
from headcats.prompts.corruption import CORRUPTIONS, build_pairs
from headcats.prompts.pair import PromptPair
from headcats.prompts.template import ARROW
from headcats.random_streams import stream

N_DEMOS = 5


def accuracy_table(logits: Logits, tokenizer: PreTrainedTokenizerFast, *, n: int, seed: int) -> dict[str, list[float]]:
    """Accuracy of every task after 0 to `N_DEMOS` demonstrations, on `n` prompts a cell.

    Demonstrations and queries are drawn from the whole task; lists are lists that training never held.
    """
    return {
        task: accuracy_by_demonstrations(
            logits,
            random_sequences(pairs, n, n_pairs=N_DEMOS + 1, draws=stream(seed, task, "gate")),
            tokenizer,
        ).tolist()
        for task, pairs in fresh_pairs(tokenizer, seed).items()
    }


def prompt_accuracy(logits: Logits, tokenizer: PreTrainedTokenizerFast, *, n: int) -> dict[str, float]:
    """Accuracy of every task on clean prompts made as `headcats run` makes them: inputs that another task shares."""
    pairs = fresh_pairs(tokenizer, GATE_SEED)
    accuracy = {}
    for task in pairs:
        built = _prompts(task, pairs, n=n, corruption="other_task")
        clean, answers = [pair.clean for pair in built], [pair.answer for pair in built]
        accuracy[task], _ = accuracy_of_prompts(logits, clean, answers, tokenizer)
    return accuracy


def measure(logits: Logits, tokenizer: PreTrainedTokenizerFast, *, n: int) -> dict[str, dict[str, Any]]:
    """All numbers of the card, per task.

    Returns:
        Task -> `k` (accuracy after 0 to 5 demonstrations) and, per corruption, `accuracy` and `probability` (mean, of
        the right answer) after corrupted prompts of 5 demonstrations, `clean_accuracy` and `clean_probability` after
        their clean twins, and `n`, the number of prompts. The corrupted prompts are made as `headcats run` makes them.
    """
    table = accuracy_table(logits, tokenizer, n=n, seed=GATE_SEED)
    pairs = fresh_pairs(tokenizer, GATE_SEED)
    measured: dict[str, dict[str, Any]] = {}
    for task in pairs:
        measured[task] = {"k": [round(accuracy, 4) for accuracy in table[task]]}
        for corruption in CORRUPTIONS:
            built = _prompts(task, pairs, n=n, corruption=corruption)
            measured[task][corruption] = corrupted_cell(logits, built, tokenizer)
    return measured


def _prompts(task: str, pairs: dict[str, list[WordPair]], *, n: int, corruption: str) -> list[PromptPair]:
    others = {name: other for name, other in pairs.items() if name != task}
    return build_pairs(
        task, pairs[task], others, n=n, seed=GATE_SEED, template=ARROW, n_demos=N_DEMOS, corruption=corruption
    )
