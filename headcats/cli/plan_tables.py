"""What `headcats compare` prints first: what the runs themselves differ in."""

import json
from collections.abc import Mapping, Sequence

import xarray as xr

from headcats.cli.console import out, table
from headcats.evidence.comparison.protocols import scored_tasks

# More tasks than these are counted, not named.
NAMED_TASKS = 5


def print_plans(results: Mapping[str, xr.DataTree]) -> None:
    """What the plans, the models and the scored tasks of results differ in."""
    stored = [json.loads(one.attrs["manifest"]) for one in results.values()]
    rows = []
    for part in ("plan", "model"):
        for name in dict.fromkeys(name for one in stored for name in one[part]):
            values = [_told(one[part].get(name)) for one in stored]
            if len(set(values)) > 1:
                rows.append([f"{part} {name}", *values])
    tasks = [scored_tasks(one) for one in results.values()]
    if any(own != tasks[0] for own in tasks):
        rows.append(["tasks", *_tasks_told(tasks)])
    out.print(table("Plan, model and tasks", ["", *results], rows) if rows else "Same plan, model and tasks.")


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
