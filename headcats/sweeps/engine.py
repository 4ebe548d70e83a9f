"""Measure many sets of heads on the path that was chosen, a part at a time within a memory budget, or by position."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import torch
from jaxtyping import Float
from torch import Tensor

from headcats.base.errors import OptionError, UnknownNameError, unknown_name_message
from headcats.metrics.definition import Metrics
from headcats.models.adapter import HookedModel
from headcats.models.head import Head
from headcats.results.block_schema import worst_check
from headcats.results.head_axes import HEAD, KV_GROUP, UNITS
from headcats.sweeps import memory
from headcats.sweeps.hooked import hooked
from headcats.sweeps.intervention import Change, Z
from headcats.sweeps.memory import Sizes
from headcats.sweeps.paths import Choice, choose
from headcats.sweeps.replayed import replayed
from headcats.sweeps.runs import BaseRuns, Run
from headcats.sweeps.sources import AtPosition, Replacements
from headcats.sweeps.tree import HeadSet
from headcats.sweeps.within_memory import in_parts

EACH = "each"
"""Positions of a sweep: every token of the prompts, one at a time."""


class RoundingNoise:
    """Head outputs of an unpatched run, moved by about one rounding."""

    def __init__(self, run: Run, *, first: int) -> None:
        self.change = Change(first)
        self.mask = torch.ones(len(run.continued), run.continued.packed_length - first, dtype=torch.bool)
        self._run, self.first = run, first

    def of_layer(self, layer: int) -> Z:
        """Z times 1 + eps or 1 - eps, signs drawn with a fixed seed."""
        z = self._run.z(layer, first=self.first)
        draws = torch.Generator().manual_seed(layer)
        signs = 1 - 2 * torch.randint(2, z.shape, generator=draws).to(z.device, z.dtype)
        return z * (1 + signs * torch.finfo(z.dtype).eps)


NewZ = Replacements | AtPosition | RoundingNoise
MeasureHeads = Callable[[Sequence[HeadSet]], Float[Tensor, "metric prompt set"]]


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
    """The metrics of every prompt with each set of heads (none empty) replaced in the run `base`, fp32 on the CPU."""
    order = sorted(range(len(sets)), key=lambda place: sets[place])
    continued, change = runs.base_run(base).continued, replacements.change
    footprint = memory.Footprint.of(
        Sizes.of(runs.model), continued, first=change.first, path=choice.path, kept_from=replacements.first
    )
    plan = memory.plan(footprint, rows=len(sets), budget=runs.budget)
    rows = plan.rows
    values = torch.full((len(names), len(runs.batch), len(sets)), float("nan"), dtype=torch.float32, device="cpu")
    for prompts, measure_heads in _parts(runs, base, replacements, names=names, choice=choice, size=plan.prompts):

        def work(part: slice, measure_heads: MeasureHeads = measure_heads) -> Tensor:
            return measure_heads([sets[place] for place in order[part]]).cpu()

        for part, metrics in in_parts(work, len(sets), rows, devices=runs.model.devices):
            values[:, prompts, order[part]] = metrics
            if part.stop < len(sets):
                rows = part.stop - part.start  # what did not fit now would not fit next time either
            if prompts.stop >= len(runs.batch):
                advance(part.stop - part.start)
    return values


def _parts(
    runs: BaseRuns, base: str, replacements: NewZ, *, names: Metrics, choice: Choice, size: int
) -> Iterator[tuple[slice, MeasureHeads]]:
    """Some of the prompts, and what computes their metrics."""
    run = runs.base_run(base)

    def of_prompts(prompts: slice, path: Callable[..., Tensor]) -> MeasureHeads:
        return partial(
            path,
            new_z=lambda layer: replacements.of_layer(layer)[prompts],
            mask=replacements.mask[prompts],
            names=names,
            targets=runs.targets.select(prompts),
        )

    if choice.path == "hooked":
        for start in range(0, len(run.continued), size):
            prompts = slice(start, start + size)
            yield prompts, of_prompts(prompts, partial(hooked, run.model, run.continued.select(prompts), what=run.what))
        return
    for prompts, recording in run.recordings(replacements.change.first):
        yield prompts, of_prompts(prompts, partial(replayed, recording, n_layers=run.model.n_layers))


@torch.no_grad()
def measured_noise(
    runs: BaseRuns, base: str, names: Metrics, *, first: int, choice: Choice
) -> Float[Tensor, " metric"] | None:
    """Root mean square change of each metric of one prompt when z moves by one rounding; None in fp32 and fp64.

    Three heads are replaced one at a time, at positions `first` and later, by the path of the sweep itself.
    """
    model, run = runs.model, runs.base_run(base)
    if torch.finfo(model.dtype).bits > 16:
        return None
    layers = (model.layers[0], model.layers[len(model.layers) // 2], model.layers[-1])
    heads = {Head(layer, part * (model.n_heads[layer] - 1) // 2) for part, layer in enumerate(layers)}
    noise = RoundingNoise(run, first=first)
    moved = measure_sets(runs, base, [(head,) for head in heads], noise, names=names, choice=choice)
    change = moved - runs.measured(names, run).cpu()[:, :, None]
    return change.square().mean((1, 2)).sqrt()


def measure_positions(
    runs: BaseRuns,
    base: str,
    sets: Sequence[HeadSet],
    everywhere: Replacements,
    *,
    names: Metrics,
    choice: Choice,
    path: str,
) -> tuple[Float[Tensor, "metric prompt position set"], Choice]:
    """The metrics of every prompt with each set of heads of a layer replaced at one position, fp32 on the CPU.

    `choice` is that for a position in the middle. With the paths that ran and the worst of their self-checks.
    """
    run = runs.base_run(base)
    last, last_block = run.continued.length - 1, runs.model.n_layers - 1
    values = runs.measured(names, run).cpu()[..., None, None].repeat(1, 1, last + 1, len(sets))
    ran = []
    for position in range(everywhere.first, last + 1):
        at = AtPosition(everywhere, position)
        ran.append(choose(runs.model, run.continued, change=at.change, path=path))
        is_read = position == last or ran[-1].path == "hooked"
        places = [place for place, heads in enumerate(sets) if is_read or heads[0].layer < last_block]
        chosen = [sets[place] for place in places]
        values[:, :, position, places] = measure_sets(runs, base, chosen, at, names=names, choice=ran[-1])
    check = choice.check if path == "hooked" else worst_check(one.check for one in ran)
    return values, Choice("; ".join(dict.fromkeys(one.path for one in ran)), check)


def in_the_middle(first: int, length: int) -> Change:
    """The change that speaks for the others in the self-check: long before the end, and with much before it."""
    return Change((first + length - 1) // 2, alone=True)


def swept_sets(model: HookedModel, unit: str) -> dict[Head, HeadSet]:
    """Cell of a table -> heads that are replaced at once: one, or a group, in the cell of its key-value head."""
    if unit not in UNITS:
        raise UnknownNameError(unknown_name_message("unit", unit, UNITS))
    if unit == HEAD:
        return {head: (head,) for head in model.heads}
    if model.n_kv_heads == model.n_heads:
        raise OptionError(
            f"Every head of model {model.name!r} has keys and values of its own, so there are no groups of heads that "
            f"share them: use unit={HEAD!r}, the default, in place of unit={KV_GROUP!r}."
        )
    return {
        Head(layer, group): tuple(Head(layer, group * size + place) for place in range(size))
        for layer, n in model.n_kv_heads.items()
        for size in [model.n_heads[layer] // n]
        for group in range(n)
    }
