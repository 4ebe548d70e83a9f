"""Measure many sets of heads on the path that was chosen, a part at a time within a memory budget."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import torch
from jaxtyping import Float
from torch import Tensor

from headcats.metrics.definition import Metrics
from headcats.models.head import Head
from headcats.sweeps import memory
from headcats.sweeps.change import Change
from headcats.sweeps.hooked import hooked
from headcats.sweeps.in_parts import in_parts
from headcats.sweeps.intervention import Z
from headcats.sweeps.paths import Choice
from headcats.sweeps.replayed import replayed
from headcats.sweeps.runs import BaseRuns, Run
from headcats.sweeps.sizes import Sizes
from headcats.sweeps.sources import AtPosition, Replacements
from headcats.sweeps.tree import HeadSet


class Moved:
    """Head outputs of an unpatched run, moved by about one rounding."""

    def __init__(self, run: Run, *, first: int) -> None:
        self.change = Change(first)
        self.mask = torch.ones(len(run.continued), run.continued.packed_length - first, dtype=torch.bool)
        self._run, self._first = run, first

    def of_layer(self, layer: int) -> Z:
        """Z times 1 + eps or 1 - eps, signs drawn with a fixed seed."""
        z = self._run.z(layer, first=self._first)
        draws = torch.Generator().manual_seed(layer)
        signs = 1 - 2 * torch.randint(2, z.shape, generator=draws).to(z.device, z.dtype)
        return z * (1 + signs * torch.finfo(z.dtype).eps)


NewZ = Replacements | AtPosition | Moved


def measure_sets(
    runs: BaseRuns,
    base: str,
    sets: Sequence[HeadSet],
    replacements: NewZ,
    *,
    names: Metrics,
    choice: Choice,
    advance: Callable[[int], None] = lambda heads: None,
) -> Float[Tensor, "metric prompt set"]:
    """The metrics of every prompt with each set of heads (none empty) replaced in the run `base`, fp32 on the CPU.

    `advance` is called with the number of sets done, once for each set.
    """
    order = sorted(range(len(sets)), key=lambda place: sets[place])
    plan = _plan(runs, base, replacements, choice, n_sets=len(sets))
    change = replacements.change
    rows = plan.rows
    values = torch.full((len(names), len(runs.batch), len(sets)), float("nan"), dtype=torch.float32, device="cpu")
    for prompts, measure_heads in _parts(runs.base_run(base), change, choice, plan.prompts):
        measure_part = partial(
            measure_heads,
            new_z=_new_z(replacements, prompts),
            mask=replacements.mask[prompts],
            names=names,
            targets=runs.targets.select(prompts),
        )

        def work(part: slice, measure_part: Callable[..., Tensor] = measure_part) -> Tensor:
            return measure_part([sets[place] for place in order[part]]).cpu()

        for part, metrics in in_parts(work, len(sets), rows, devices=runs.model.devices):
            values[:, prompts, order[part]] = metrics
            if part.stop < len(sets):
                rows = part.stop - part.start  # what did not fit now would not fit next time either
            if prompts.stop >= len(runs.batch):
                advance(part.stop - part.start)
    return values


def measure_part(
    runs: BaseRuns,
    base: str,
    sets: Sequence[HeadSet],
    replacements: Replacements,
    *,
    names: Metrics,
    choice: Choice,
) -> tuple[int, Sequence[HeadSet]]:
    """Measure as many prompts as `measure_sets` takes at a time, with as many sets, those in the middle.

    Returns the number of these prompts, and these sets.
    """
    plan = _plan(runs, base, replacements, choice, n_sets=len(sets))
    start = (len(sets) - plan.rows) // 2
    chosen = sorted(sets)[start : start + plan.rows]
    prompts, measure_heads = next(_parts(runs.base_run(base), replacements.change, choice, plan.prompts))
    measure = partial(
        measure_heads,
        new_z=_new_z(replacements, prompts),
        mask=replacements.mask[prompts],
        names=names,
        targets=runs.targets.select(prompts),
    )
    for _ in in_parts(lambda part: measure(chosen[part]).cpu(), len(chosen), len(chosen), devices=runs.model.devices):
        pass  # more than one part only where memory runs out
    return len(range(*prompts.indices(len(runs.batch)))), chosen


def _plan(runs: BaseRuns, base: str, replacements: NewZ, choice: Choice, *, n_sets: int) -> memory.MemoryPlan:
    continued, change = runs.base_run(base).continued, replacements.change
    footprint = memory.Footprint.of(
        Sizes.of(runs.model), continued, first=change.first, path=choice.path, recorded=change.begins
    )
    return memory.plan(footprint, rows=n_sets, budget=runs.budget)


def _parts(run: Run, change: Change, choice: Choice, size: int) -> Iterator[tuple[slice, Callable[..., Tensor]]]:
    """Some of the prompts, and what computes their metrics."""
    if choice.path == "hooked":
        for start in range(0, len(run.continued), size):
            prompts = slice(start, start + size)
            yield prompts, partial(hooked, run.model, run.continued.select(prompts))
        return
    for prompts, recording in run.recordings(change.begins):
        yield prompts, partial(replayed, recording.narrowed(change.first), n_layers=run.model.n_layers)


def _new_z(replacements: NewZ, prompts: slice) -> Callable[[int], Z]:
    return lambda layer: replacements.of_layer(layer)[prompts]


@torch.no_grad()
def measured_noise(
    runs: BaseRuns, base: str, names: Metrics, *, first: int, choice: Choice
) -> Float[Tensor, " metric"] | None:
    """Root mean square change of each metric when head outputs move by about one rounding of the model's dtype.

    Three heads (of the first, the middle and the last layer) are replaced one at a time, at positions `first` and
    later, by the path of the sweep itself. In each metric's unit, for one prompt; None for fp32 and fp64, whose noise
    no effect comes near.
    """
    model, run = runs.model, runs.base_run(base)
    if torch.finfo(model.dtype).bits > 16:
        return None
    layers = (model.layers[0], model.layers[len(model.layers) // 2], model.layers[-1])
    heads = {Head(layer, part * (model.n_heads[layer] - 1) // 2) for part, layer in enumerate(layers)}
    moved = measure_sets(runs, base, [(head,) for head in heads], Moved(run, first=first), names=names, choice=choice)
    change = moved - runs.measured(names, run).cpu()[:, :, None]
    return change.square().mean((1, 2)).sqrt()
