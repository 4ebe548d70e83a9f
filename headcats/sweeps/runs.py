"""The unpatched runs of a batch, made once and shared by every intervention on it."""

from collections.abc import Iterator
from functools import cached_property

import torch
from jaxtyping import Float, Int
from torch import Tensor

from headcats.errors import DataError
from headcats.metrics import Targets
from headcats.models import HookedModel
from headcats.models.replay import Recording, Unreplayable, record
from headcats.prompts.batch import PromptBatch
from headcats.sweeps import memory
from headcats.sweeps.intervention import Z
from headcats.sweeps.running_out import halving


class Run:
    """One unpatched run of some prompts, clean or corrupted.

    Nothing is computed before it is asked for. What was announced by `keep`, `record` and `replay` by then comes out of
    one forward pass; what is asked for later takes another one.

    Attributes:
        model: The model.
        tokens: The prompts.
        beside: How many runs of the batch keep their z at the same time, this one included; for the memory plan.
    """

    def __init__(self, model: HookedModel, tokens: Int[Tensor, "prompt pos"], *, budget: int) -> None:
        self.model = model
        self.tokens = tokens
        self.beside = 2
        self._budget = budget
        self._first = tokens.shape[1] - 1
        self._records = False
        self._replays = False
        self._part = len(tokens)
        self._made: tuple[Tensor, dict[int, Tensor]] | None = None
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
        z = self._results()[1][layer]
        return z[:, first - self._first :]

    def recordings(self, first: int) -> Iterator[tuple[slice, Recording]]:
        """Recordings of the prompts, part by part, for replay at positions `first` and later exactly.

        Those that do not fit into memory together are made again each time.

        Raises:
            Unreplayable: See `headcats.models.replay.record`.
        """
        self.replay(first)
        self._results()
        if first != self._first:
            # Wider rows than needed would cost more than another unpatched run.
            yield from self._record_again(first)
            return
        yield from self._recordings or self._record_again(first)

    def _results(self) -> tuple[Tensor, dict[int, Tensor]]:
        if self._made is None:
            planned = memory.prompts_per_part(
                self.model,
                *self.tokens.shape,
                first=self._first,
                budget=self._budget,
                records=self._records,
                runs=self.beside,
            )
            self._made = halving(self._make, planned, device=self.model.device)
        return self._made

    def _make(self, prompts: int) -> tuple[Tensor, dict[int, Tensor]]:
        self._part = prompts
        return self._recorded() if self._records else self._captured()

    def _recorded(self) -> tuple[Tensor, dict[int, Tensor]]:
        parts, kept = [], []
        try:
            for prompts, recording in self._record(self._first):
                parts.append((recording.logits, dict(recording.z)))
                if self._replays and self._keeps_recordings:
                    kept.append((prompts, recording))
        except Unreplayable:
            self._records = self._replays = False
            return self._captured()
        self._recordings = kept
        return _joined(parts)

    def _captured(self) -> tuple[Tensor, dict[int, Tensor]]:
        return _joined([self.model.capture(self.tokens[part], first=self._first) for part in self._parts])

    def _record(self, first: int) -> Iterator[tuple[slice, Recording]]:
        for part in self._parts:
            yield part, record(self.model, self.tokens[part], first=first)

    def _record_again(self, first: int) -> Iterator[tuple[slice, Recording]]:
        start, most = 0, self._part

        def recorded(count: int) -> Recording:
            return record(self.model, self.tokens[start : start + count], first=first)

        while start < len(self.tokens):
            recording = halving(recorded, min(most, len(self.tokens) - start), device=self.model.device)
            most = min(most, len(recording.tokens))
            yield slice(start, start + len(recording.tokens)), recording
            start += len(recording.tokens)

    @property
    def _parts(self) -> list[slice]:
        return [slice(start, start + self._part) for start in range(0, len(self.tokens), self._part)]

    @property
    def _keeps_recordings(self) -> bool:
        return memory.keeps_recordings(self.model, *self.tokens.shape, first=self._first, budget=self._budget)

    def _forget(self) -> None:
        self._made = None
        self._recordings = []


class BaseRuns:
    """Clean and corrupted runs of one batch, and that of the second corruption where it is asked for.

    Attributes:
        model: The model.
        batch: The prompts.
        budget: Bytes that a sweep may use beside the model's weights.
        clean: Run of the clean prompts.
        corrupted: Run of the corrupted prompts.
    """

    def __init__(self, model: HookedModel, batch: PromptBatch, *, limit: str | int | None = None) -> None:
        self.model = model
        self.batch = batch
        self.limit = limit
        self.budget = memory.budget(limit, model.device)
        self.clean = Run(model, batch.clean, budget=self.budget)
        self.corrupted = Run(model, batch.corrupted, budget=self.budget)

    @cached_property
    def second(self) -> Run:
        """Run of the second corruption; a prompt without one is run as its corrupted twin.

        Raises:
            DataError: No prompt has one.
        """
        if self.batch.second is None:
            raise DataError(
                "No prompt of this batch has a second corruption. Give one: "
                "hc.PromptBatch.from_tokens(..., second=...)."
            )
        run = Run(self.model, self.batch.second, budget=self.budget)
        for one in (self.clean, self.corrupted, run):
            one.beside = 3
        return run

    def of(self, base: str) -> Run:
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
