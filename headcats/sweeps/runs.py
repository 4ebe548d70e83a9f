"""The unpatched runs of a batch, made once and shared by every intervention on it."""

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TypeVar

import torch
from jaxtyping import Float, Int
from torch import Tensor

from headcats.errors import DataError
from headcats.metrics.definition import Targets
from headcats.models.adapter import HookedModel
from headcats.models.replay.record import record
from headcats.models.replay.recording import Recording, Unreplayable
from headcats.prompts.batch import PromptBatch
from headcats.sweeps import memory
from headcats.sweeps.in_parts import in_parts
from headcats.sweeps.intervention import Z

T = TypeVar("T")


class Run:
    """One unpatched run of some prompts, clean or corrupted.

    Nothing is computed before it is asked for. What was announced by `keep`, `record` and `replay` by then comes out of
    one forward pass; what is asked for later takes another one.
    """

    def __init__(self, model: HookedModel, tokens: Int[Tensor, "prompt pos"], *, budget: int) -> None:
        self.model, self.tokens, self._budget = model, tokens, budget
        self._first = tokens.shape[1] - 1
        self._records = self._replays = False
        self._logits_and_z: tuple[Tensor, dict[int, Tensor]] | None = None
        self._recordings: list[tuple[slice, Recording]] = []

    def keep(self, first: int) -> None:
        """Announce that z is needed at positions `first` and later."""
        if first < self._first:
            self._first = first
            self._forget()

    def record(self) -> None:
        """Announce that a recording will do in place of an ordinary forward pass, which takes longer."""
        self._records = True

    def replay(self, first: int) -> None:
        """Announce that blocks will be run again at positions `first` and later."""
        self.record()
        if not self._replays:
            self._replays = True
            self._forget()
        self.keep(first)

    @property
    def logits(self) -> Float[Tensor, "prompt d_vocab"]:
        """Logits at the last position, fp32."""
        return self._results()[0]

    def z(self, layer: int, *, first: int) -> Z:
        """Head outputs of one layer at positions `first` and later."""
        self.keep(first)
        return self._results()[1][layer][:, first - self._first :]

    def recordings(self, first: int) -> Iterator[tuple[slice, Recording]]:
        """Recordings of the prompts, part by part, for replay at positions `first` and later exactly.

        Those that do not fit into memory together are made again each time.
        """
        self.replay(first)
        self._results()
        # Wider rows than needed would cost more than another unpatched run.
        yield from (self._recordings if first == self._first else []) or self._record(first)

    def _results(self) -> tuple[Tensor, dict[int, Tensor]]:
        if self._logits_and_z is None:
            if self._records:
                try:
                    self._logits_and_z = self._recorded()
                except Unreplayable:
                    self._records = self._replays = False
            if self._logits_and_z is None:
                captured = self._in_parts(lambda part: self.model.capture(self.tokens[part], first=self._first))
                self._logits_and_z = _joined([part for _, part in captured])
        return self._logits_and_z

    def _recorded(self) -> tuple[Tensor, dict[int, Tensor]]:
        keeps = self._replays and self._footprint.keeps_recordings(self._budget)
        parts, recordings = [], []
        for prompts, recording in self._record(self._first):
            parts.append((recording.logits, dict(recording.z)))
            recordings += [(prompts, recording)] if keeps else []
        self._recordings = recordings
        return _joined(parts)

    def _record(self, first: int) -> Iterator[tuple[slice, Recording]]:
        return self._in_parts(lambda part: record(self.model, self.tokens[part], first=first))

    def _in_parts(self, work: Callable[[slice], T]) -> Iterator[tuple[slice, T]]:
        planned = memory.prompts_per_part(self._footprint, budget=self._budget)
        return in_parts(work, len(self.tokens), planned, device=self.model.device)

    @property
    def _footprint(self) -> memory.Footprint:
        prompts, length = self.tokens.shape
        return memory.Footprint(self.model, prompts, length, self._first, "replayed" if self._records else "hooked")

    def _forget(self) -> None:
        self._logits_and_z = None
        self._recordings = []


class BaseRuns:
    """Clean and corrupted runs of one batch, and that of the second corruption where it is asked for.

    A sweep may use `budget` bytes beside the model's weights.
    """

    def __init__(self, model: HookedModel, batch: PromptBatch, *, limit: str | int | None = None) -> None:
        self.model, self.batch, self.limit = model, batch, limit
        self.budget = memory.budget(limit, model.device)
        self.clean = Run(model, batch.clean, budget=self.budget)
        self.corrupted = Run(model, batch.corrupted, budget=self.budget)

    @cached_property
    def second(self) -> Run:
        """Run of the second corruption; a prompt without one is run as its corrupted twin."""
        if self.batch.second is None:
            raise DataError(
                "No prompt of this batch has a second corruption. Give one: "
                "hc.PromptBatch.from_tokens(..., second=...)."
            )
        return Run(self.model, self.batch.second, budget=self.budget)

    def base_run(self, base: str) -> Run:
        """The clean or the corrupted run, by name."""
        return self.corrupted if base == "corrupted" else self.clean

    def select(self, prompts: list[int]) -> "BaseRuns":
        """Runs, not made yet, of some of the prompts."""
        return BaseRuns(self.model, self.batch.select(prompts), limit=self.limit)

    @cached_property
    def targets(self) -> Targets:
        """Answers, distractors and clean logits, on the model's device."""
        device = self.model.device
        return Targets(self.batch.answer.to(device), self.batch.distractor.to(device), self.clean.logits)


def _joined(parts: list[tuple[Tensor, dict[int, Tensor]]]) -> tuple[Tensor, dict[int, Tensor]]:
    if len(parts) == 1:
        return parts[0]
    logits = torch.cat([logits for logits, _ in parts])
    return logits, {layer: torch.cat([z[layer] for _, z in parts]) for layer in parts[0][1]}
