"""What a sweep of a batch will compute, how it is cut to fit into memory, and a part of it to learn from."""

from dataclasses import replace

from headcats.base.errors import DataError
from headcats.methods.causal.on_task import TaskInputs
from headcats.models.adapter import HookedModel
from headcats.prompts.batch import PromptBatch
from headcats.sweeps.batch_sweep import prepare
from headcats.sweeps.engine import measure_part
from headcats.sweeps.intervention import Intervention
from headcats.sweeps.memory import Footprint, MemoryPlan, plan
from headcats.sweeps.reference import Reference
from headcats.sweeps.role_sums import ROWS
from headcats.sweeps.sizes import Sizes
from headcats.sweeps.sources import first_change
from headcats.sweeps.units import swept_sets


def sweep_work(
    intervention: Intervention, model: HookedModel, batch: PromptBatch, *, positions: str, path: str, unit: str
) -> int:
    """See `CausalMethod.work`."""
    base, n_layers, sets = batch.continued(intervention.base), model.n_layers, swept_sets(model, unit).sets
    if path == "hooked":
        return len(sets) * n_layers * base.rows.numel()
    tokens = len(base) * (base.packed_length - _first_change(intervention, batch, positions))
    return tokens * sum(n_layers - heads[0].layer for heads in sets)


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
    first = _first_change(intervention, batch, positions)
    footprint = Footprint.of(Sizes.of(model), batch.continued(intervention.base), first=first, path=path)
    planned = plan(footprint, rows=len(swept_sets(model, unit).sets), budget=budget)
    # Not cut to the budget: so many reference prompts are run at a time.
    more = footprint.capture(ROWS) if intervention.uses_reference else 0
    return replace(planned, peak=planned.peak + more)


def sweep_part(
    intervention: Intervention, inputs: TaskInputs, *, positions: str, reference: str | None, unit: str
) -> float:
    """See `CausalMethod.rehearse`; `reference` is None for a replacement that needs none."""
    runs = inputs.runs[0]
    model, batch, sets = runs.model, runs.batch, swept_sets(runs.model, unit).sets
    prompts_of_reference = inputs.reference(reference) if reference else Reference(batch)
    replacements, choice = prepare(
        runs, intervention, positions=positions, reference=prompts_of_reference, path=inputs.path
    )
    prompts, chosen = measure_part(runs, intervention.base, sets, replacements, names=inputs.metrics, choice=choice)
    if choice.path == "hooked":
        return prompts * len(chosen) / (len(batch) * len(sets))
    done, total = (sum(model.n_layers - heads[0].layer for heads in measured) for measured in (chosen, sets))
    return prompts * done / (len(batch) * total)


def _first_change(intervention: Intervention, batch: PromptBatch, positions: str) -> int:
    """First position that changes; 0 where a role is not aligned."""
    try:
        return first_change(intervention, batch, batch.positions(positions, of=intervention.base))
    except DataError:
        return 0
