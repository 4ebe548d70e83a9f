"""The tasks: what was used, what was dropped and why, and whether the model can do them."""

from collections.abc import Iterator

import numpy as np

from headcats.reports.page.material import Material
from headcats.reports.page.parts import Folded, Part, section
from headcats.reports.text.finding import line, table
from headcats.results.records import TaskRecord


@section("Tasks")
def tasks(material: Material) -> Iterator[Part]:
    """One row per task; below it what was dropped or skipped."""
    records = material.manifest.tasks
    if records:
        metric = material.manifest.plan.metrics[0]
        reliability = _reliability(material)
        rows = [_row(task, record, reliability.get(task, "-")) for task, record in records.items()]
        numbers = ["pairs", "prompts", "dropped", "accuracy", "corrupted", f"gap ({metric})", "95 % interval"]
        numeric = [*numbers, "reliability"]
        yield table("text.untitled", ["task", "category", *numeric], rows, numeric=numeric)
        yield line("tasks.columns")
        dropped = [row for task, record in records.items() for row in _dropped(task, record)]
        if dropped:
            yield Folded(line("tasks.dropped"), (table("text.untitled", ["task", "why"], dropped),))
        sources = [(task, record.source) for task, record in records.items() if record.source]
        if sources:
            yield Folded(line("tasks.sources"), (table("text.untitled", ["task", "source"], sources),))
    skipped = [
        (part, label, reason)
        for label, record in material.manifest.joint_blocks.items()
        for part, reason in record.skipped().items()
    ]
    if skipped:
        parts = table("text.untitled", ["part", "method", "why"], skipped)
        yield Folded(line("tasks.skipped_parts", n=len(skipped)), (parts,))


def _row(task: str, record: TaskRecord, reliability: str) -> tuple[str, ...]:
    counts = (record.word_pairs, record.prompts)
    sizes = ["-" if count.kept is None else str(count.kept) for count in counts]
    dropped = sum(sum(count.dropped.values()) for count in counts)
    means = (record.accuracy, record.corrupted_accuracy, record.gap)
    numbers = ["-" if mean is None else f"{mean:.2f}" for mean in means]
    interval = "-" if record.low is None else f"{record.low:.2f} to {record.high:.2f}"
    name = f"{task} (skipped)" if record.refusal else task
    return name, record.category, *sizes, str(dropped), *numbers, interval, reliability


def _reliability(material: Material) -> dict[str, str]:
    if not material.tables:
        return {}
    values = material.tables["scores"]["reliability"].to_series()
    return {str(task): f"{value:.2f}" for task, value in values.items() if np.isfinite(value)}


def _dropped(task: str, record: TaskRecord) -> Iterator[tuple[str, str]]:
    counts = {
        "word pairs": record.word_pairs,
        "prompts": record.prompts,
        "reference prompts": record.reference_prompts,
    }
    for noun, count in counts.items():
        for reason, number in count.dropped.items():
            example = f" (such as {count.examples[reason]})" if reason in count.examples else ""
            yield task, f"{number} {noun} dropped: {reason}{example}"
    if record.refusal:
        yield task, f"skipped: {record.refusal}"
