"""Before a run: how much memory it will take. After it: which paths computed it."""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from headcats.errors import DataError
from headcats.models import HookedModel
from headcats.models.replay import Unreplayable, check_replayable
from headcats.study.plan import Study
from headcats.study.preparation import Preparation
from headcats.sweeps import memory
from headcats.sweeps.sources import first_change


def memory_plan(
    model: HookedModel, study: Study, preparation: Preparation, *, limit: str | int | None, path: str = "auto"
) -> memory.MemoryPlan | None:
    """The plan of the sweep that needs most; None if no task can be written as prompts.

    Raises:
        OptionError: A limit that cannot be read, or that nothing fits into.
    """
    budget = memory.budget(limit, model.device)
    rows = sum(model.n_heads.values())
    plans = [
        memory.plan(
            model,
            prompts=len(batch),
            length=batch.length,
            first=_first(spec, batch),
            rows=rows,
            path="hooked" if path == "hooked" or not _replayable(model) else "replayed",
            budget=budget,
        )
        for batch in _shapes(study, preparation)
        for spec in study.methods
    ]
    return max(plans, key=lambda one: one.peak, default=None)


def paths_used(manifest: Mapping[str, Any], labels: list[str]) -> list[str]:
    """One line per method and path: on how many tasks it ran, and what the self-check found there."""
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    for entries in manifest["blocks"].values():
        for label in labels:
            entry = entries.get(label, {})
            if "path" in entry:
                found[label, entry["path"]].append(entry.get("self_check", ""))
    return [
        f"{label}: {len(checks)} {'task' if len(checks) == 1 else 'tasks'} by path {path!r}"
        + (f"; self-check {checks[0]}" if checks[0] else "")
        for (label, path), checks in found.items()
    ]


def _shapes(study: Study, preparation: Preparation) -> list[Any]:
    """One batch of each shape that the tasks of the study have."""
    batches = [batch for task in study.tasks for batch in preparation.prepared[task.name].scored]
    return list({(len(batch), batch.length): batch for batch in batches}.values())


def _first(spec: Any, batch: Any) -> int:
    intervention = getattr(spec.method, "intervention", None)
    try:
        mask = batch.positions(spec.positions)
    except DataError:  # refused later, by name
        return 0
    return 0 if intervention is None else first_change(intervention, batch, mask)


def _replayable(model: HookedModel) -> bool:
    try:
        check_replayable(model)
    except Unreplayable:
        return False
    return True
