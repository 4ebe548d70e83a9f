"""The training loop: cycles of learning-rate decay until every task passes its gate."""

import math
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor
from transformers import LlamaForCausalLM

from training.network import Parameters, answer_logits, make_model

Logits = Callable[[Int[Tensor, "sequence pos"], Int[Tensor, " answer"]], Float[Tensor, "sequence answer token"]]
"""A model: token ids and positions -> logits of the token after each of these positions."""

NOT_COUNTED = -100


@dataclass(frozen=True)
class Settings:
    """What a training run depends on besides its sequences and the seed; the same for every seed."""

    n_layers: int = 6
    n_heads: int = 8
    d_model: int = 128
    d_mlp: int = 344
    n_positions: int = 64
    learning_rate: float = 2e-3
    """Peak of the first cycle; later cycles peak at half of it."""
    weight_decay: float = 0.05
    warm_up: int = 200
    share_constant: float = 0.3
    """Share of a cycle before the cosine to zero begins."""
    first_cycle: int = 6000
    later_cycle: int = 2000
    most_cycles: int = 4
    check_every: int = 500
    lag_weight: float = 4.0
    """After a check a task is drawn 1 + lag_weight * (1 - accuracy) times as often as at first."""

    def steps_before(self, cycle: int) -> int:
        """Number of steps that all cycles before this one take."""
        return self.first_cycle + self.later_cycle * (cycle - 1) if cycle else 0


@dataclass(frozen=True)
class Batch:
    """Sequences of one length whose loss is taken at the same positions."""

    name: str  # what the log calls them
    tokens: Int[np.ndarray, "sequence pos"]  # token ids
    answers: Int[np.ndarray, " answer"]  # positions whose next token is learned
    weight: float  # weight of their mean loss in the loss of the step
    # which answers of each sequence count; all of them where it is `None`
    counted: Bool[np.ndarray, "sequence answer"] | None = None


@dataclass
class Progress:
    """Where a run stands; everything that a checkpoint holds besides weights and optimiser."""

    step: int = 0
    cycle: int = 0
    seconds: float = 0.0
    passed: bool = False
    checks: list[dict[str, Any]] = field(default_factory=list)
    gates: list[dict[str, Any]] = field(default_factory=list)
    """What the gate measured after each cycle; filled by the caller's gate."""


@runtime_checkable
class Sequences(Protocol):
    """Source of training sequences."""

    draws: np.random.Generator  # source of all its random choices; a checkpoint holds its state
    weights: dict[str, float]  # task name -> how often it is drawn, relative to the others of its kind

    def batches(self) -> list[Batch]:
        """What the next step learns from."""
        ...


class Fit:
    """One training run."""

    def __init__(
        self,
        settings: Settings,
        sequences: Sequences,
        *,
        n_tokens: int,
        seed: int,
        compiled: bool = True,
        log: Callable[[str], object] = lambda line: None,
    ) -> None:
        """A compiled forward pass needs a C++ compiler; its numbers differ by rounding only."""
        torch.manual_seed(seed)
        self.settings, self.sequences, self.log = settings, sequences, log
        self.model: LlamaForCausalLM = make_model(
            n_tokens=n_tokens,
            n_positions=settings.n_positions,
            n_layers=settings.n_layers,
            n_heads=settings.n_heads,
            d_model=settings.d_model,
            d_mlp=settings.d_mlp,
        )
        self.progress = Progress()
        self._parameters = dict(self.model.named_parameters())
        matrices = [weight for weight in self._parameters.values() if weight.ndim > 1]
        scales = [weight for weight in self._parameters.values() if weight.ndim == 1]
        self._optimizer = torch.optim.AdamW(
            [{"params": matrices, "weight_decay": settings.weight_decay}, {"params": scales, "weight_decay": 0.0}],
            betas=(0.9, 0.98),
            fused=True,
        )
        self._loss = torch.compile(self._mean_loss, dynamic=False) if compiled else self._mean_loss
        self._base_weights = dict(sequences.weights)

    def run(
        self,
        check: Callable[[Logits], Mapping[str, float]],
        passed: Callable[[LlamaForCausalLM], bool],
        *,
        checkpoint: Path | None = None,
        after_step: Callable[[LlamaForCausalLM, int], object] = lambda model, n_steps: None,
    ) -> bool:
        """Train in cycles until `passed`, the gate after each cycle; True if it was passed within `most_cycles`.

        Tasks that lag behind in `check` are drawn more often from then on; `checkpoint` is resumed.
        """
        if checkpoint is not None and checkpoint.exists():
            self.load(checkpoint)
        settings, progress = self.settings, self.progress
        while not progress.passed and progress.cycle < settings.most_cycles:
            length = settings.first_cycle if progress.cycle == 0 else settings.later_cycle
            while progress.step < length:
                started = time.monotonic()
                losses = self.step(self.learning_rate(progress.step, length))
                progress.step += 1
                after_step(self.model, settings.steps_before(progress.cycle) + progress.step)
                if progress.step % settings.check_every == 0:
                    self._check(check)
                progress.seconds += time.monotonic() - started
                if progress.step % 50 == 0:
                    self.log(
                        f"cycle {progress.cycle} step {progress.step} {progress.seconds:.0f} s, loss of "
                        + ", ".join(f"{name} {loss:.3f}" for name, loss in losses.items())
                    )
                if checkpoint is not None and progress.step % settings.check_every == 0:
                    self.save(checkpoint)
            progress.passed = passed(self.model)
            progress.step, progress.cycle = 0, progress.cycle + 1
            if checkpoint is not None:
                self.save(checkpoint)
        return progress.passed

    def step(self, learning_rate: float) -> dict[str, float]:
        """One optimiser step; returns the mean loss of each batch by its name."""
        for group in self._optimizer.param_groups:
            group["lr"] = learning_rate
        batches = self.sequences.batches()
        losses = [self._loss_of(batch) for batch in batches]
        self._optimizer.zero_grad()
        torch.stack([batch.weight * loss for batch, loss in zip(batches, losses, strict=True)]).sum().backward()
        torch.nn.utils.clip_grad_norm_(self._parameters.values(), 1.0)
        self._optimizer.step()
        return {batch.name: loss.item() for batch, loss in zip(batches, losses, strict=True)}

    def learning_rate(self, step: int, length: int) -> float:
        """Warm-up, constant, cosine to zero; of the current cycle."""
        settings = self.settings
        peak = settings.learning_rate * (1.0 if self.progress.cycle == 0 else 0.5)
        decay = (step / length - settings.share_constant) / (1 - settings.share_constant)
        return peak * min(1.0, (step + 1) / settings.warm_up) * 0.5 * (1 + math.cos(math.pi * max(0.0, decay)))

    @torch.no_grad()
    def logits(
        self, tokens: Int[Tensor, "sequence pos"], answers: Int[Tensor, " answer"]
    ) -> Float[Tensor, "sequence answer token"]:
        """Logits of the current weights, in the training's precision."""
        return self._forward(self._parameters, tokens, answers)

    def save(self, path: Path) -> None:
        """Write a checkpoint; the old one stays until the new one is complete."""
        state = {
            "weights": {name: weight.detach() for name, weight in self._parameters.items()},
            "optimizer": self._optimizer.state_dict(),
            "draws": self.sequences.draws.bit_generator.state,
            "task_weights": self.sequences.weights,
            "progress": vars(self.progress),
        }
        partial = path.with_suffix(".partial")
        torch.save(state, partial)
        os.replace(partial, path)

    def load(self, path: Path) -> None:
        """Go on from a checkpoint."""
        state = torch.load(path, weights_only=False)
        with torch.no_grad():
            for name, weight in self._parameters.items():
                weight.copy_(state["weights"][name])
        self._optimizer.load_state_dict(state["optimizer"])
        self.sequences.draws.bit_generator.state = state["draws"]
        self.sequences.weights = state["task_weights"]
        vars(self.progress).update(state["progress"])
        self.log(f"resumed in cycle {self.progress.cycle} at step {self.progress.step}")

    def _check(self, check: Callable[[Logits], Mapping[str, float]]) -> None:
        accuracy = dict(check(self.logits))
        for task, reached in accuracy.items():
            if task not in self._base_weights:
                continue  # measured, but drawn at a fixed rate
            self.sequences.weights[task] = self._base_weights[task] * (1 + self.settings.lag_weight * (1 - reached))
        self.progress.checks.append({"cycle": self.progress.cycle, "step": self.progress.step, "accuracy": accuracy})
        lowest = sorted(accuracy, key=accuracy.__getitem__)[:6]
        mean = sum(accuracy.values()) / len(accuracy)
        self.log(f"mean accuracy {mean:.3f}; lowest: " + ", ".join(f"{task} {accuracy[task]:.2f}" for task in lowest))

    def _loss_of(self, batch: Batch) -> Tensor:
        tokens, positions = torch.from_numpy(batch.tokens), torch.from_numpy(batch.answers)
        targets = tokens[:, positions + 1]
        if batch.counted is not None:
            targets = targets.masked_fill(torch.from_numpy(~batch.counted), NOT_COUNTED)
        last = int(batch.answers[-1])
        return self._loss(self._parameters, tokens[:, : last + 1].contiguous(), targets, positions)

    def _mean_loss(self, parameters: Parameters, tokens: Tensor, targets: Tensor, answers: Tensor) -> Tensor:
        return F.cross_entropy(
            self._forward(parameters, tokens, answers).flatten(0, 1), targets.flatten(), ignore_index=NOT_COUNTED
        )

    def _forward(self, parameters: Parameters, tokens: Tensor, answers: Tensor) -> Tensor:
        return answer_logits(
            parameters,
            tokens,
            answers,
            n_layers=self.settings.n_layers,
            n_heads=self.settings.n_heads,
            dtype=torch.bfloat16,
        )
