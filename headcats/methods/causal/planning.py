"""What a sweep of a batch will compute, and how it is cut to fit into memory, before anything is swept."""

from headcats.errors import DataError
from headcats.models.adapter import HookedModel
from headcats.prompts.batch import PromptBatch
from headcats.sweeps.intervention import Intervention
from headcats.sweeps.memory import Footprint, MemoryPlan, plan
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
    footprint = Footprint.of(model, batch.continued(intervention.base), first=first, path=path)
    return plan(footprint, rows=len(swept_sets(model, unit).sets), budget=budget)


def _first_change(intervention: Intervention, batch: PromptBatch, positions: str) -> int:
    """First position that changes; 0 where a role is not aligned."""
    try:
        return first_change(intervention, batch, batch.positions(positions, of=intervention.base))
    except DataError:
        return 0
