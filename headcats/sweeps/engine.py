"""Metrics of many sets of heads on one batch, by whichever path was chosen, within a memory budget."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from headcats.metrics import Targets
from headcats.models.replay import Recording
from headcats.sweeps import memory
from headcats.sweeps.hooked import hooked
from headcats.sweeps.intervention import Z
from headcats.sweeps.paths import Choice
from headcats.sweeps.replayed import measured, replayed
from headcats.sweeps.running_out import halving
from headcats.sweeps.runs import BaseRuns
from headcats.sweeps.tree import HeadSet


@runtime_checkable
class NewZ(Protocol):
    """New values of z: `Replacements`, or anything else that has these."""

    first: int
    mask: Bool[Tensor, "prompt pos"]

    def of_layer(self, layer: int) -> Z:
        """New z of all heads of a layer, at positions `first` and later."""
        ...


Advance = Callable[[int], None]
Work = Callable[[Sequence[HeadSet]], Tensor]
"""Sets of heads -> metrics `[metric, prompt, set]` of some of the prompts."""


def measure_sets(
    runs: BaseRuns,
    base: str,
    sets: Sequence[HeadSet],
    replacements: NewZ,
    *,
    names: tuple[str, ...],
    choice: Choice,
    advance: Advance = lambda heads: None,
) -> Float[Tensor, "metric prompt set"]:
    """The metrics of every prompt with each set of heads replaced.

    Args:
        runs: Unpatched runs of the batch.
        base: The run that is intervened on, "clean" or "corrupted".
        sets: Heads that are replaced together, none of them empty.
        replacements: New values of z.
        names: Metrics, all read from the same logits.
        choice: The path.
        advance: Called with the number of sets done, once for each set.

    Returns:
        fp32, on the CPU.
    """
    order = sorted(range(len(sets)), key=lambda place: sets[place])
    ordered = [sets[place] for place in order]
    parts = _hooked_parts if choice.path == "hooked" else _replayed_parts
    shape = (len(names), len(runs.batch), len(sets))
    values = torch.full(shape, float("nan"), dtype=torch.float32, device="cpu")
    for prompts, rows, work in parts(runs, base, len(sets), replacements, names):
        done = 0
        while done < len(ordered):
            left = ordered[done:]
            found = halving(partial(_first, work, left), min(rows, len(left)), device=runs.model.device)
            # What did not fit now would not fit next time either.
            rows = min(rows, found.shape[2]) if found.shape[2] < len(left) else rows
            values[:, prompts, done : done + found.shape[2]] = found
            done += found.shape[2]
            if prompts.stop >= len(runs.batch):
                advance(found.shape[2])
    back = torch.empty(len(order), dtype=torch.long)
    back[torch.tensor(order)] = torch.arange(len(order))
    return values[:, :, back]


def _first(work: Work, sets: Sequence[HeadSet], count: int) -> Tensor:
    return work(sets[:count]).cpu()


def _replayed_parts(
    runs: BaseRuns, base: str, n_sets: int, replacements: NewZ, names: tuple[str, ...]
) -> Iterator[tuple[slice, int, Work]]:
    model = runs.model
    for prompts, recording in runs.of(base).recordings(replacements.first):
        limits = _limits(runs, len(recording.tokens), n_sets, replacements.first, path="replayed", names=names)
        work = _Replaying(
            recording,
            _part(replacements, prompts),
            replacements.mask[prompts],
            names,
            runs.targets.select(prompts),
            limits.readouts,
            model.n_layers,
        )
        yield prompts, limits.rows, work


def _hooked_parts(
    runs: BaseRuns, base: str, n_sets: int, replacements: NewZ, names: tuple[str, ...]
) -> Iterator[tuple[slice, int, Work]]:
    tokens = runs.of(base).tokens
    limits = _limits(runs, len(tokens), n_sets, replacements.first, path="hooked", names=names)
    for start in range(0, len(tokens), limits.prompts):
        prompts = slice(start, start + limits.prompts)
        work = partial(
            hooked,
            runs.model,
            tokens[prompts],
            new_z=_part(replacements, prompts),
            mask=replacements.mask[prompts],
            names=names,
            targets=runs.targets.select(prompts),
        )
        yield prompts, limits.rows, work


@dataclass(frozen=True)
class _Replaying:
    """Metrics of sets of heads for the prompts of one recording."""

    recording: Recording
    new_z: Callable[[int], Z]
    mask: Tensor
    names: tuple[str, ...]
    targets: Targets
    readouts: int
    n_layers: int

    def __call__(self, sets: Sequence[HeadSet]) -> Tensor:
        residual = replayed(self.recording, sets, self.new_z, mask=self.mask, n_layers=self.n_layers)
        return measured(self.recording, residual, self.names, self.targets, readouts=self.readouts)


def _part(replacements: NewZ, prompts: slice) -> Callable[[int], Z]:
    return lambda layer: replacements.of_layer(layer)[prompts]


def _limits(
    runs: BaseRuns, prompts: int, n_sets: int, first: int, *, path: str, names: tuple[str, ...]
) -> memory.MemoryPlan:
    return memory.plan(
        runs.model,
        prompts=prompts,
        length=runs.batch.length,
        first=first,
        rows=n_sets,
        path=path,
        budget=runs.budget,
        metrics=names,
        runs=runs.clean.beside,
    )
