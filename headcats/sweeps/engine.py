"""Metrics of many sets of heads on one batch, by whichever path was chosen, within a memory budget."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from headcats.sweeps import memory
from headcats.sweeps.hooked import hooked
from headcats.sweeps.in_parts import in_parts
from headcats.sweeps.intervention import Z
from headcats.sweeps.paths import Choice
from headcats.sweeps.replayed import replayed
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


def measure_sets(
    runs: BaseRuns,
    base: str,
    sets: Sequence[HeadSet],
    replacements: NewZ,
    *,
    names: tuple[str, ...],
    choice: Choice,
    advance: Callable[[int], None] = lambda heads: None,
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
    footprint = memory.Footprint(runs.model, len(runs.batch), runs.batch.length, replacements.first, choice.path)
    plan = memory.plan(footprint, rows=len(sets), budget=runs.budget)
    rows = plan.rows
    values = torch.full((len(names), len(runs.batch), len(sets)), float("nan"), dtype=torch.float32, device="cpu")
    for prompts, measure in _parts(runs, base, replacements, choice, plan.prompts):
        measure_part = partial(
            measure,
            new_z=_new_z(replacements, prompts),
            mask=replacements.mask[prompts],
            names=names,
            targets=runs.targets.select(prompts),
        )

        def work(part: slice, measure: Callable[..., Tensor] = measure_part) -> Tensor:
            return measure([sets[place] for place in order[part]]).cpu()

        for part, metrics in in_parts(work, len(sets), rows, device=runs.model.device):
            values[:, prompts, order[part]] = metrics
            if part.stop < len(sets):
                rows = part.stop - part.start  # what did not fit now would not fit next time either
            if prompts.stop >= len(runs.batch):
                advance(part.stop - part.start)
    return values


def _parts(
    runs: BaseRuns, base: str, replacements: NewZ, choice: Choice, size: int
) -> Iterator[tuple[slice, Callable[..., Tensor]]]:
    """Some of the prompts, and what computes their metrics."""
    run = runs.base_run(base)
    if choice.path == "hooked":
        for start in range(0, len(run.tokens), size):
            prompts = slice(start, start + size)
            yield prompts, partial(hooked, runs.model, run.tokens[prompts])
        return
    for prompts, recording in run.recordings(replacements.first):
        yield prompts, partial(replayed, recording, n_layers=runs.model.n_layers)


def _new_z(replacements: NewZ, prompts: slice) -> Callable[[int], Z]:
    return lambda layer: replacements.of_layer(layer)[prompts]
