"""What the runs of several results differ in, before any of their heads is compared."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import xarray as xr

from headcats.evidence.comparison.protocols import scored_tasks
from headcats.reports.text.table import Finding, table
from headcats.results.tree import manifest_of

# More tasks than these are counted, not named.
NAMED_TASKS = 5
TASKS = "tasks"


def plan_findings(results: Mapping[str, xr.DataTree]) -> Iterator[Finding]:
    """What the plans, the models and the scored tasks of results differ in.

    Args:
        results: Name -> results.
    """
    found = differences(results)
    rows = [[what, *map(_told, values)] for what, values in found.items() if what != TASKS]
    if TASKS in found:
        rows.append([TASKS, *_tasks_told(found[TASKS])])
    yield table("Plan, model and tasks", ["", *results], rows) if rows else "Same plan, model and tasks."


def differences(results: Mapping[str, xr.DataTree]) -> dict[str, list[Any]]:
    """What the results differ in, such as "plan seed", "model name" or "tasks" -> its value in each.

    Args:
        results: Name -> results.
    """
    manifests = [manifest_of(tree) for tree in results.values()]
    parts = {
        "plan": [manifest.plan.complete() for manifest in manifests],
        "model": [manifest.model.complete() for manifest in manifests],
    }
    found: dict[str, list[Any]] = {}
    for part, records in parts.items():
        for name in records[0] if records else ():
            values = [record[name] for record in records]
            if any(value != values[0] for value in values):
                found[f"{part} {name}"] = values
    tasks = [scored_tasks(one) for one in results.values()]
    return found | ({TASKS: tasks} if any(own != tasks[0] for own in tasks) else {})


def _told(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _tasks_told(tasks: Sequence[list[str]]) -> list[str]:
    """How many tasks each has, and which of all are not among them."""
    every = sorted({task for own in tasks for task in own})
    lacking = [[task for task in every if task not in own] for own in tasks]
    return [
        str(len(own))
        + (f", without {', '.join(left[:NAMED_TASKS])}" if left else "")
        + (f" and {len(left) - NAMED_TASKS} more" if len(left) > NAMED_TASKS else "")
        for own, left in zip(tasks, lacking, strict=True)
    ]
