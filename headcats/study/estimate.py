"""Before a run: how much memory and time it will take. After it: which paths computed it."""

import re
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from headcats.errors import DataError, pluralize
from headcats.models.adapter import HookedModel
from headcats.models.replay.unreplayable import Unreplayable, check_replayable
from headcats.results.declaration import approximation_label
from headcats.results.manifest import Manifest
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
    path = path if _replayable(model) else "hooked"
    plans = [
        spec.method.memory_plan(model, batch, n_metrics=len(study.metrics), budget=budget)
        if hasattr(spec.method, "memory_plan")
        else memory.plan(
            memory.Footprint(model, len(batch), batch.length, _first(spec, batch), path), rows=rows, budget=budget
        )
        for batch in _shapes(study, preparation)
        for spec in study.task_methods
    ]
    return max(plans, key=lambda memory_plan: memory_plan.peak, default=None)


def seconds_expected(
    model: HookedModel, study: Study, preparation: Preparation, unpatched: Mapping[str, float], *, path: str = "auto"
) -> float:
    """Time of the sweeps, judged by that of the unpatched runs and the number of tokens that each block will see.

    Args:
        model: The model.
        study: What will be scored.
        preparation: Its prompts.
        unpatched: Task -> seconds of its clean and corrupted runs; tasks that are missing do not count.
        path: As in `hc.run`.

    Returns:
        Seconds. Tiny models take longer, because calling a block takes time too.
    """
    slow = path == "hooked" or not _replayable(model)
    total = 0.0
    for task, seconds in unpatched.items():
        batches = preparation.prepared[task].scored
        per_token = seconds / (2 * model.n_layers * sum(len(batch) * batch.length for batch in batches))
        for spec in study.task_methods:
            for batch in batches:
                width = batch.length - (0 if slow else _first(spec, batch))
                blocks = sum(
                    heads * (model.n_layers - (0 if slow else layer)) for layer, heads in model.n_heads.items()
                )
                total += per_token * len(batch) * width * blocks
    return total


def paths_used(manifest: Manifest, labels: list[str]) -> list[str]:
    """One line per method and path: on how many tasks it ran, and the worst self-check."""
    checks: dict[tuple[str, str], list[str]] = defaultdict(list)
    for records in manifest.blocks.values():
        for label in labels:
            if label in records and records[label].path:
                kind = f" ({kind})" if (kind := approximation_label(records[label].approximation)) else ""
                checks[label + kind, records[label].path].append(records[label].self_check)
    return [
        f"{label}: {pluralize(len(of_tasks), 'task')} by path {path!r}"
        + (f"; self-check {max(of_tasks, key=_worse)}" if any(of_tasks) else "")
        for (label, path), of_tasks in checks.items()
    ]


def other_paths(manifest: Manifest, labels: list[str], path: str) -> list[str]:
    """Labels with a block that another path than this one computed."""
    records = [record for of_task in manifest.blocks.values() for record in of_task.items()]
    return [label for label in labels if any(of == label and block.path not in ("", path) for of, block in records)]


def _worse(check: str) -> tuple[bool, float]:
    """Order of self-checks: one that failed is worse than any that passed, then the larger difference."""
    differences = [float(number) for number in re.findall(r"largest difference (\S+)", check)]
    return not check.startswith("passed"), max(differences, default=0.0)


def _shapes(study: Study, preparation: Preparation) -> list[Any]:
    """One batch of each shape, and each first position that changes, that the tasks of the study have."""
    batches = [batch for task in study.tasks for batch in preparation.prepared[task.name].scored]
    by_shape = {
        (len(batch), batch.length, *(_first(spec, batch) for spec in study.task_methods)): batch for batch in batches
    }
    return list(by_shape.values())


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
