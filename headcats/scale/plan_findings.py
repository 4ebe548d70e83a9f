"""Hours and memory of a study, as a table and what it rests on."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from headcats.base.errors import format_duration
from headcats.results.finding import Finding, line, paragraph, table

if TYPE_CHECKING:  # which loads torch
    from headcats.scale.resources import Resources

_COLUMNS = ("", "operations", "time", "memory")


def plan_findings(planned: "Resources") -> Iterator[Finding]:
    """A row per part, the sum, and the assumptions."""
    from headcats.sweeps.memory import readable_bytes  # with torch

    rows = [
        [
            part.Index,
            f"{part.flops:.2g}",
            format_duration(part.hours * 3600),
            readable_bytes(part.memory),
        ]
        for part in planned.parts.itertuples()
    ]
    shape, n_used = planned.shape, planned.copies * planned.devices_per_copy
    yield table(
        "plan.title",
        _COLUMNS,
        rows,
        numeric=_COLUMNS[1:],
        shape=shape.name or "model",
        layers=shape.n_layers,
        heads=shape.n_heads,
        dtype=planned.dtype,
        tasks=planned.n_tasks,
        prompts=planned.n_prompts,
        device=planned.hardware.name,
    )
    yield paragraph(
        "plan.total",
        device_time=format_duration(planned.parts["hours"].iloc[-1] * n_used * 3600),
        devices=n_used,
        weights=readable_bytes(planned.weights),
    )
    if planned.devices_per_copy > 1:
        yield line("plan.spread", per_copy=planned.devices_per_copy, copies=planned.copies)
    yield line("plan.prompts", tokens=planned.tokens, written_by=planned.written_by)
    yield line("plan.rate", source=planned.hardware.source, rate=f"{planned.hardware.rate / 1e12:.3g}")
    yield line("plan.left_out")
