"""Findings of a comparison of methods on one grid, and of the plans of several results."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace

import xarray as xr

from headcats.evidence.comparison.runs import TASKS, Runs
from headcats.results.finding import (
    Finding,
    Short,
    Table,
    first_names,
    line,
    number_text,
    paragraph,
    table,
)

NAMED_TASKS = 5  # more tasks are counted, not named


def method_findings(agreement: xr.Dataset) -> Iterator[Finding]:
    """Findings on `hc.evidence.method_agreement`: rank correlations by group."""
    methods = zip(agreement["method"].values, agreement["reduction"].values, strict=True)
    rows = [[str(number), str(name), str(strength)] for number, (name, strength) in enumerate(methods, start=1)]
    yield table("methods.grid", ["", "method", "strength of a head"], rows)
    for label, reason in json.loads(agreement.attrs["left_out"]).items():
        yield line("agreement.left_out", name=label, reason=reason)
    yield paragraph("methods.matrices")
    for group in agreement["group"].values:
        yield _method_matrix(agreement.sel(group=group), str(group))
    yield paragraph("methods.caution")


def _method_matrix(agreement: xr.Dataset, group: str) -> Table:
    n = agreement.sizes["method"]
    rows = [
        [
            str(row + 1),
            *(_method_cell(agreement.isel(method=row, other=column)) for column in range(row)),
            *[""] * (n - 1 - row),
        ]
        for row in range(1, n)
    ]
    columns = ["", *map(str, range(1, n))]
    return table("methods.matrix", columns, rows, numeric=columns[1:], group=group)


def _method_cell(pair: xr.Dataset) -> str:
    if not pair["rank_correlation"].notnull():
        return "-"
    return "{} ({})".format(*(number_text(pair[name]) for name in ("rank_correlation", "layer_correlation")))


def plan_findings(runs: Runs) -> Iterator[Finding]:
    """The differences of the plans, the models and the scored tasks of runs."""
    differing = dict(runs.differences)
    tasks = differing.pop(TASKS, None)
    rows = [[part, *map(value_text, values)] for part, values in differing.items()]
    if tasks is not None:
        rows.append([TASKS, *_task_texts(tasks)])
    yield table("plans.differences", ["", *runs], rows) if rows else line("plans.same")


def value_text(value: object) -> str:
    """A value of a plan; lists with commas."""
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _task_texts(tasks: Sequence[list[str]]) -> list[str]:
    """Count the tasks of each run, and name those that it lacks."""
    union = sorted({task for names in tasks for task in names})
    lacking = [[task for task in union if task not in names] for names in tasks]
    return [
        f"{len(names)}{f', without {first_names(absent, NAMED_TASKS)}' if absent else ''}"
        for names, absent in zip(tasks, lacking, strict=True)
    ]


def short_methods(agreement: xr.Dataset, *, next_command: str) -> Short:
    """Make the answer on methods on one grid: which they are."""
    grid, *left_out = (each for each in method_findings(agreement) if each.id in ("methods.grid", "agreement.left_out"))
    assert isinstance(grid, Table)
    listed = replace(grid, id="text.untitled")
    count = line("methods.count", n=agreement.sizes["method"], groups=agreement.sizes["group"])
    return Short((count,), lambda most: listed, (), (line("methods.caution"), *left_out), next_command)
