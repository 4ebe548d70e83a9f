"""What the training of one bundled model declares, and what is done with it: train a seed, measure."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

from training.evaluation import logits_of
from training.fit import Fit, Logits, Sequences, Settings
from training.shipped import as_shipped, load, write, write_json

CHECKPOINT_STEPS = (63, 125, 250, 500, 1000, 2000, 4000, 8000)
"""Steps of all cycles after which the model is kept.

Declared before any of these models was looked at: the 8000 steps of the shipped "mini", halved seven times. Most tasks
are learned within the first 500 steps and lists only after 2000, so equal distances would show either half badly.
"""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Recipe:
    """The training of one bundled model."""

    settings: Settings  # sizes and optimiser, the same for every seed
    tokenizer: Callable[[], PreTrainedTokenizerFast]  # makes the tokenizer
    sequences: Callable[[PreTrainedTokenizerFast, int], Sequences]  # the training sequences of a seed
    # quick accuracy per task, taken during training
    check: Callable[[Logits, PreTrainedTokenizerFast], dict[str, float]]
    # what is measured after a cycle, on the model as it would be shipped
    gate: Callable[[Logits, PreTrainedTokenizerFast], dict[str, Any]]
    # tasks for which a gate's result is not good enough, with their accuracy
    failures: Callable[[Mapping[str, Any]], dict[str, float]]
    measure: Callable[[Logits, PreTrainedTokenizerFast], dict[str, Any]]  # the numbers of the card


def train(recipe: Recipe, seed: int, out: Path, *, compiled: bool) -> None:
    """Train one seed until its gate is passed and write the model folder with its `train_report.json`.

    The folder can be loaded from the first check on; it then holds the model as it is. A checkpoint in it is resumed.
    Its folder `checkpoints` holds a model folder for each of `CHECKPOINT_STEPS`: `step63`, `step125`, ...
    """
    out.mkdir(parents=True, exist_ok=True)
    tokenizer, settings = recipe.tokenizer(), recipe.settings
    sequences = recipe.sequences(tokenizer, seed)
    fit = Fit(settings, sequences, n_tokens=len(tokenizer), seed=seed, compiled=compiled, log=log.info)
    progress = fit.progress

    def check(logits: Logits) -> dict[str, float]:
        write(fit.model, tokenizer, out)
        return recipe.check(logits, tokenizer)

    def passed(model: LlamaForCausalLM) -> bool:
        rounded = as_shipped(model)
        progress.gates.append(recipe.gate(logits_of(rounded), tokenizer))
        failed = recipe.failures(progress.gates[-1])
        log.info("below the gate: %s", failed or "nothing")
        write(rounded, tokenizer, out)
        return not failed

    def keep(model: LlamaForCausalLM, n_steps: int) -> None:
        if n_steps in CHECKPOINT_STEPS:
            write(model, tokenizer, out / "checkpoints" / f"step{n_steps}")

    is_passed = fit.run(check, passed, checkpoint=out / "checkpoint.pt", after_step=keep)
    steps = settings.steps_before(progress.cycle)
    report = {
        "seed": seed,
        "passed": is_passed,
        "cycles": progress.cycle,
        "steps": steps,
        "minutes": round(progress.seconds / 60, 1),
        "threads": torch.get_num_threads(),
        "settings": vars(settings),
        "gates": progress.gates,
        "checks": progress.checks,
    }
    write_json(out / "train_report.json", report)
    if not is_passed:
        raise SystemExit(f"Seed {seed} has not passed its gate after {steps} steps; see {out}.")


def evaluate(recipe: Recipe, folder: Path) -> dict[str, Any]:
    """The card's numbers of a written folder, computed with the model as `transformers` loads it."""
    model, tokenizer = load(folder)
    return recipe.measure(logits_of(model), tokenizer)
