"""What the runs of several results differ in, before any of their heads is compared."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import xarray as xr

from headcats.evidence.comparison.protocols import scored_tasks
from headcats.reports.text.finding import Finding, line, table
from headcats.reports.text.wording import first_names
from headcats.results.tree import manifest_of

NAMED_TASKS = 5  # more tasks are counted, not named
TASKS = "tasks"


def plan_findings(results: Mapping[str, xr.DataTree]) -> Iterator[Finding]:
    """What the plans, the models and the scored tasks of results differ in.

    Args:
        results: Name -> results.
    """
    differing = differences(results)
    rows = [[part, *map(value_text, values)] for part, values in differing.items() if part != TASKS]
    if TASKS in differing:
        rows.append([TASKS, *_task_texts(differing[TASKS])])
    yield table("plans.differences", ["", *results], rows) if rows else line("plans.same")


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
    values = {
        f"{part} {name}": [record[name] for record in records]
        for part, records in parts.items()
        for name in (records[0] if records else ())
    } | {TASKS: [scored_tasks(tree) for tree in results.values()]}
    return {name: column for name, column in values.items() if any(value != column[0] for value in column)}


def value_text(value: object) -> str:
    """A value of a plan; lists with commas."""
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _task_texts(tasks: Sequence[list[str]]) -> list[str]:
    """How many tasks each run has, and which of all it lacks."""
    union = sorted({task for names in tasks for task in names})
    lacking = [[task for task in union if task not in names] for names in tasks]
    return [
        f"{len(names)}{f', without {first_names(absent, NAMED_TASKS)}' if absent else ''}"
        for names, absent in zip(tasks, lacking, strict=True)
    ]
