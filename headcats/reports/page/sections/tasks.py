"""The tasks: what was kept, what was dropped and why, and whether the model can do them."""

from collections.abc import Iterator

import numpy as np

from headcats.reports.page.material import Material
from headcats.reports.page.parts import Folded, Part, section
from headcats.reports.text.table import Table
from headcats.results.records import TaskRecord


@section("Tasks")
def tasks(material: Material) -> Iterator[Part]:
    """One row per task; below it what was dropped or skipped."""
    records = material.manifest.tasks
    if records:
        metric = material.manifest.plan.metrics[0]
        reliability = _reliability(material)
        rows = tuple(_row(task, record, reliability.get(task, "-")) for task, record in records.items())
        numbers = ("pairs", "prompts", "dropped", "accuracy", "corrupted", f"gap ({metric})", "95 % interval")
        columns = ("task", "category", *numbers, "reliability")
        yield Table("", columns, rows, frozenset(columns[2:]))
        yield (
            "accuracy: share of clean prompts that the model answers right, over the whole vocabulary; corrupted: the "
            "same of the corrupted prompts, judged by the answer of the clean ones. gap: mean difference of the metric "
            "between clean and corrupted prompts. reliability: how far two halves of the prompts agree on the effects "
            "of the heads, 0 to 1 (Spearman-Brown)."
        )
        lines = tuple(line for task, record in records.items() for line in _dropped(task, record))
        if lines:
            yield Folded("Dropped and skipped", (Table("", ("task", "why"), lines),))
        sources = tuple((task, record.source) for task, record in records.items() if record.source)
        if sources:
            yield Folded("Where the words come from", (Table("", ("task", "source"), sources),))
    skipped = tuple(
        (part, label, reason)
        for label, record in material.manifest.joint_blocks.items()
        for part, reason in record.skipped().items()
    )
    if skipped:
        yield Folded(
            f"Skipped parts of joint methods ({len(skipped)})", (Table("", ("part", "method", "why"), skipped),)
        )


def _row(task: str, record: TaskRecord, reliability: str) -> tuple[str, ...]:
    counts = (record.word_pairs, record.prompts)
    kept = ["-" if count.kept is None else str(count.kept) for count in counts]
    dropped = sum(sum(count.dropped.values()) for count in counts)
    means = (record.accuracy, record.corrupted_accuracy, record.gap)
    numbers = ["-" if mean is None else f"{mean:.2f}" for mean in means]
    interval = "-" if record.low is None else f"{record.low:.2f} to {record.high:.2f}"
    name = f"{task} (skipped)" if record.refusal else task
    return name, record.category, *kept, str(dropped), *numbers, interval, reliability


def _reliability(material: Material) -> dict[str, str]:
    if not material.tables:
        return {}
    found = material.tables["scores"]["reliability"]
    values = zip(found["task"].values.tolist(), found.values.tolist(), strict=True)
    return {task: f"{value:.2f}" for task, value in values if np.isfinite(value)}


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
