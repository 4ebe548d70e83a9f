"""A causal method on all batches of a task."""

from collections.abc import Sequence

import xarray as xr

from headcats.errors import DataError
from headcats.methods.causal.inputs import TaskInputs
from headcats.methods.causal.joining import join_batches
from headcats.sweeps.batch_sweep import sweep_runs
from headcats.sweeps.intervention import Intervention
from headcats.sweeps.reference import Reference, UncoveredRoles
from headcats.sweeps.runs import BaseRuns


def task_block(intervention: Intervention, inputs: TaskInputs, *, positions: str, reference: str | None) -> xr.Dataset:
    """See `CausalMethod.on_task`; `reference` is None for a replacement that needs none."""
    prompts = inputs.reference(reference) if reference else None
    lacking = [runs.batch.lacks_second() if intervention.uses_second else [] for runs in inputs.runs]
    parts = [
        _on_batch(runs, intervention, inputs, positions, prompts or Reference(runs.batch), left_out)
        for runs, left_out in zip(inputs.runs, lacking, strict=True)
        if len(left_out) < len(runs.batch)
    ]
    if not parts:
        raise DataError(
            f"{intervention.name} needs a second corruption, and none of the {sum(map(len, lacking))} prompts has one: "
            "no other distractor task answers their demonstrations in as many tokens, and their labels have no other "
            "wrong order."
        )
    joined = join_batches(parts)
    n_prompts = sum(len(runs.batch) for runs in inputs.runs)
    return joined.assign_attrs(dropped=n_prompts - joined.sizes["prompt"])


def _on_batch(
    runs: BaseRuns,
    intervention: Intervention,
    inputs: TaskInputs,
    positions: str,
    reference: Reference,
    left_out: Sequence[int],
) -> xr.Dataset:
    """The sweep over one batch, without the prompts `left_out`, and the few whose token roles the reference does
    not cover.

    Raises:
        UncoveredRoles: It does not cover half of the prompts.
    """

    def swept(some: BaseRuns) -> xr.Dataset:
        return sweep_runs(
            some,
            intervention,
            metrics=inputs.metrics,
            positions=positions,
            reference=reference,
            path=inputs.path,
            advance=inputs.advance,
        )

    try:
        block = swept(runs)
    except UncoveredRoles as problem:
        covered = [prompt for prompt in range(len(runs.batch)) if prompt not in problem.prompts]
        if 2 * len(covered) < len(runs.batch):
            raise
        block = swept(runs.select(covered))
    if left_out:
        # Swept with the others: unpatched runs of the others alone would cost more.
        keys = {runs.batch.keys[prompt] for prompt in left_out}
        block = block.isel(prompt=[place for place, key in enumerate(block.key.values) if key not in keys])
    return block.assign_attrs(dropped=len(runs.batch) - block.sizes["prompt"])
