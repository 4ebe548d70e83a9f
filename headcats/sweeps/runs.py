"""The unpatched runs of a batch, made once and shared by every intervention on it."""

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import NamedTuple, TypeVar

import torch
from jaxtyping import Float
from torch import Tensor

from headcats.base.errors import DataError
from headcats.metrics.definition import Metrics, Targets, measure
from headcats.metrics.rest import Rest, joined_rest
from headcats.models.adapter import HookedModel
from headcats.models.continued import Continued
from headcats.models.hooks import capturing_z
from headcats.models.replay.record import record
from headcats.models.replay.recording import Recording, Unreplayable
from headcats.prompts.batch import PromptBatch
from headcats.sweeps import memory
from headcats.sweeps.hooked import rest_of_rows
from headcats.sweeps.intervention import Z
from headcats.sweeps.memory import Sizes
from headcats.sweeps.replayed import rest_of_residual
from headcats.sweeps.within_memory import budget, in_parts

T = TypeVar("T")


class Run:
    """One unpatched run of some prompts and what follows them, clean or corrupted.

    Nothing is computed before it is asked for. What was announced by `keep`, `record` and `replay` by then comes out of
    one forward pass; what is asked for later takes another one.
    """

    def __init__(self, model: HookedModel, continued: Continued, *, budget: int, what: str = "z") -> None:
        self.model, self.continued, self._budget, self.what = model, continued, budget, what
        self._first = continued.length - 1
        self._records = self._replays = False
        self._done: Unpatched | None = None
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
        """Logits at the last position of the prompts, fp32."""
        return self._results().logits

    @property
    def rest(self) -> Rest:
        """Later tokens of answers, and what they add."""
        return self._results().rest

    def z(self, layer: int, *, first: int) -> Z:
        """Head outputs of one layer at positions `first` and later."""
        self.keep(first)
        return self._results().z[layer][:, first - self._first :]

    def recordings(self, first: int) -> Iterator[tuple[slice, Recording]]:
        """Recordings of the prompts, part by part, for replay at positions `first` and later exactly."""
        self.replay(first)
        self._results()
        # Wider rows than needed would cost more than another unpatched run.
        yield from (self._recordings if first == self._first else []) or self._record(first)

    def _results(self) -> "Unpatched":
        if self._done is None:
            if self._records:
                try:
                    self._done = self._recorded()
                except Unreplayable:
                    self._records = self._replays = False
            if self._done is None:
                self._done = _joined([part for _, part in self._in_parts(self._captured)])
        return self._done

    @torch.no_grad()
    def _captured(self, prompts: slice) -> "Unpatched":
        continued = self.continued.select(prompts)
        hooks, z = capturing_z(self.model.layers, first=self._first, what=self.what)
        logits = self.model.forward_last(continued.rows, continued.steps + 1, hooks=hooks)
        return Unpatched(
            logits[: len(continued), 0],
            rest_of_rows(continued, logits[:, 1:]),
            {layer: continued.pack(value) for layer, value in z.items()},
        )

    def _recorded(self) -> "Unpatched":
        keeps = self._replays and self._footprint.keeps_recordings(self._budget)
        parts, recordings = [], []
        for prompts, recording in self._record(self._first):
            rest = rest_of_residual(recording, recording.final[:, None, 1:])
            parts.append(Unpatched(recording.logits, rest, dict(recording.z)))
            recordings += [(prompts, recording)] if keeps else []
        self._recordings = recordings
        return _joined(parts)

    def _record(self, first: int) -> Iterator[tuple[slice, Recording]]:
        return self._in_parts(lambda part: record(self.model, self.continued.select(part), first=first))

    def _in_parts(self, work: Callable[[slice], T]) -> Iterator[tuple[slice, T]]:
        planned = memory.prompts_per_part(self._footprint, budget=self._budget)
        return in_parts(work, len(self.continued), planned, devices=self.model.devices)

    @property
    def _footprint(self) -> memory.Footprint:
        path = "replayed" if self._records else "hooked"
        return memory.Footprint.of(Sizes.of(self.model), self.continued, first=self._first, path=path)

    def _forget(self) -> None:
        self._done = None
        self._recordings = []


class BaseRuns:
    """Clean, corrupted and second runs of one batch, in `budget` bytes beside the model's weights.

    What they keep of every head is z, or `what` else an intervention replaces.
    """

    def __init__(
        self, model: HookedModel, batch: PromptBatch, *, limit: str | int | None = None, what: str = "z"
    ) -> None:
        self.model, self.batch, self.limit, self.what = model, batch, limit, what
        self.budget = budget(limit, *model.devices)
        self.clean = Run(model, batch.continued("clean"), budget=self.budget, what=what)
        self.corrupted = Run(model, batch.continued("corrupted"), budget=self.budget, what=what)

    def keeping(self, what: str) -> "BaseRuns":
        """Runs of the same prompts that keep this part of every head."""
        if what == "pattern" and self.clean.continued.steps:
            raise DataError(
                "Patterns are replaced where answers are one token: of longer ones they have another size behind each "
                "answer. Score first tokens alone, or answers of one token (answers='single')."
            )
        return self if what == self.what else BaseRuns(self.model, self.batch, limit=self.limit, what=what)

    @cached_property
    def second(self) -> Run:
        """Run of the second corruption; a prompt without one is run as its corrupted twin."""
        if self.batch.second is None:
            raise DataError(
                "No prompt of this batch has a second corruption. Give one: "
                "hc.PromptBatch.from_tokens(..., second=...)."
            )
        return Run(self.model, self.batch.continued("second"), budget=self.budget, what=self.what)

    def base_run(self, base: str) -> Run:
        """The clean or the corrupted run, by name."""
        return self.corrupted if base == "corrupted" else self.clean

    def select(self, prompts: list[int]) -> "BaseRuns":
        """Runs, not made yet, of some of the prompts."""
        return BaseRuns(self.model, self.batch.select(prompts), limit=self.limit, what=self.what)

    @cached_property
    def targets(self) -> Targets:
        """Answers, distractors and clean logits, on the model's device."""
        device = self.model.device
        return Targets(self.batch.answer.to(device), self.batch.distractor.to(device), self.clean.logits)

    def measured(self, names: Metrics, run: Run) -> Float[Tensor, "metric prompt"]:
        """Metrics of an unpatched run."""
        return measure(names, run.logits, self.targets, rest=run.rest)


class Unpatched(NamedTuple):
    """Outputs of an unpatched run."""

    logits: Float[Tensor, "prompt d_vocab"]
    rest: Rest
    z: dict[int, Z]


def _joined(parts: list[Unpatched]) -> Unpatched:
    if len(parts) == 1:
        return parts[0]
    return Unpatched(
        torch.cat([part.logits for part in parts]),
        joined_rest([part.rest for part in parts]),
        {layer: torch.cat([part.z[layer] for part in parts]) for layer in parts[0].z},
    )
