"""A causal method on all batches of a task, and what that will take."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import xarray as xr

from headcats.base.errors import DataError
from headcats.methods.method import TaskInputs
from headcats.models.adapter import HookedModel
from headcats.prompts.batch import PromptBatch
from headcats.prompts.batch_checks import UnmatchedPrompts
from headcats.prompts.template import has_query
from headcats.results.block_schema import join_batches
from headcats.sweeps.batch_sweep import sweep_runs
from headcats.sweeps.engine import swept_sets
from headcats.sweeps.intervention import Intervention
from headcats.sweeps.memory import Footprint, MemoryPlan, Sizes, plan
from headcats.sweeps.reference import Reference
from headcats.sweeps.role_sums import ROWS
from headcats.sweeps.runs import BaseRuns
from headcats.sweeps.sources import Replacements, first_change


def task_block(
    intervention: Intervention, inputs: TaskInputs, *, positions: str, reference: str | None, unit: str
) -> xr.Dataset:
    """See `CausalMethod.on_part`; `reference` is None for a replacement that needs none."""
    prompts = inputs.reference(reference) if reference else None
    lacking = [runs.batch.lacks_second() if intervention.uses_second else [] for runs in inputs.runs]

    def swept(runs: BaseRuns) -> xr.Dataset:
        return sweep_runs(
            runs,
            intervention,
            metrics=inputs.metrics,
            positions=positions,
            reference=prompts or Reference(runs.batch),
            unit=unit,
            path=inputs.path,
            advance=inputs.advance,
        )

    def begin(runs: BaseRuns) -> None:
        # At the last token a sweep costs no more than this.
        if prompts is not None and positions != "last":
            mask = runs.batch.positions(positions, of=intervention.base)
            Replacements(runs, intervention, reference=prompts, mask=mask).of_layer(runs.model.layers[0])

    blocks = matched_blocks(inputs.runs, swept, begin=begin, left_out=lacking)
    if not blocks:
        reason = "give finished prompts one, PromptPair(..., second=hc.SecondCorruption(...))."
        if all(map(has_query, (roles for runs in inputs.runs for roles in runs.batch.roles))):
            reason = (
                "no other distractor task answers their demonstrations, and no labels of theirs have another wrong "
                "order. A third task on the same words gives one."
            )
        raise DataError(
            f"{intervention.name} needs a second corruption, and none of the {sum(map(len, lacking))} prompts has one: "
            f"{reason}"
        )
    return join_batches(blocks)


def matched_blocks(
    all_runs: Sequence[BaseRuns],
    swept: Callable[[BaseRuns], xr.Dataset],
    *,
    begin: Callable[[BaseRuns], None] = lambda runs: None,
    left_out: Sequence[Sequence[int]] | None = None,
) -> list[xr.Dataset]:
    """Blocks of batches without the prompts `left_out` and those without a counterpart (a DataError beyond half).

    Batches of which no prompt is left have none. The first block counts all prompts that are left out as `dropped`.
    `begin` finds prompts without a counterpart at little cost, so that nothing is swept in vain.
    """
    blocks: list[xr.Dataset] = []
    problems: list[UnmatchedPrompts] = []
    left_out = left_out or [[]] * len(all_runs)
    n_prompts, n_dropped = sum(len(runs.batch) for runs in all_runs), 0

    def check() -> None:
        n_unmatched = sum(len(problem.prompts) for problem in problems)
        if 2 * n_unmatched > n_prompts - sum(map(len, left_out)):
            raise DataError(f"{n_unmatched} of {n_prompts} prompts would be left out. {problems[0]}")

    for runs in all_runs:
        try:
            begin(runs)
        except UnmatchedPrompts as problem:
            problems.append(problem)
    check()
    problems.clear()
    for runs, of_batch in zip(all_runs, left_out, strict=True):
        block = None
        if len(of_batch) < len(runs.batch):
            block = _matched_block(runs, swept, of_batch, problems)
        n_dropped += len(runs.batch) - (0 if block is None else block.sizes["prompt"])
        blocks += [] if block is None else [block]
    check()
    return [block.assign_attrs(dropped=0 if number else n_dropped) for number, block in enumerate(blocks)]


def _matched_block(
    runs: BaseRuns, swept: Callable[[BaseRuns], xr.Dataset], left_out: Sequence[int], problems: list[UnmatchedPrompts]
) -> xr.Dataset | None:
    """The block of a batch; what prompts without a counterpart lack is added to `problems`."""
    try:
        block = swept(runs)
    except UnmatchedPrompts as problem:
        problems.append(problem)
        matched = [prompt for prompt in range(len(runs.batch)) if prompt not in problem.prompts]
        if not set(matched) - set(left_out):
            return None
        block = swept(runs.select(matched))
    if left_out:
        # Swept with the others: separate unpatched runs would cost more.
        keys = {runs.batch.keys[prompt] for prompt in left_out}
        block = block.isel(prompt=[place for place, key in enumerate(block.key.values) if key not in keys])
    return block


def sweep_memory(
    intervention: Intervention,
    model: HookedModel,
    batch: PromptBatch,
    *,
    positions: str,
    budget: int,
    path: str,
    unit: str,
) -> MemoryPlan:
    """See `CausalMethod.memory_plan`."""
    try:
        first = first_change(intervention, batch, batch.positions(positions, of=intervention.base))
    except DataError:  # a role is not aligned: planned as if at all positions
        first = 0
    footprint = Footprint.of(Sizes.of(model), batch.continued(intervention.base), first=first, path=path)
    planned = plan(footprint, rows=len(swept_sets(model, unit)), budget=budget)
    # Not cut to the budget: so many reference prompts are run at a time.
    more = footprint.capture(ROWS) if intervention.uses_reference else 0
    return replace(planned, peak=planned.peak + more)
