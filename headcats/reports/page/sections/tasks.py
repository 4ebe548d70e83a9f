"""The tasks: what was used, what was dropped and why, and whether the model can do them."""

from collections.abc import Iterator

from headcats.reports.page.material import Material
from headcats.reports.page.parts import Folded, Part, section
from headcats.reports.text.tasks import count_columns, dropped_rows, task_rows
from headcats.results.finding import line, number_text, table


@section("Tasks")
def tasks(material: Material) -> Iterator[Part]:
    """One row per task; below it what was dropped or skipped."""
    records = material.run.manifest.tasks
    if records:
        columns = [*count_columns(records), "accuracy", "corrupted", "gap", "95 % interval"]
        reliability = material.tables["scores"]["reliability"].to_series().to_dict() if material.tables else {}
        rows = [
            [f"{task} (skipped)" if records[task].refusal else task, *cells, number_text(reliability.get(task))]
            for task, *cells in task_rows(records, columns)
        ]
        plan = material.run.manifest.plan
        columns[columns.index("gap")] = f"gap ({plan.metrics[0]})"
        numeric = [*columns, "reliability"]
        yield table("text.untitled", ["task", "category", *numeric], rows, numeric=numeric)
        yield line("tasks.columns")
        yield line(f"tasks.answers_{plan.answers}")
        dropped = [row for task, record in records.items() for row in dropped_rows(task, record)]
        if dropped:
            yield Folded(line("tasks.dropped"), (table("text.untitled", ["task", "why"], dropped),))
        sources = [(task, record.source) for task, record in records.items() if record.source]
        if sources:
            yield Folded(line("tasks.sources"), (table("text.untitled", ["task", "source"], sources),))
    skipped = [
        (part, label, reason)
        for label, record in material.run.manifest.joint_blocks.items()
        for part, reason in record.skipped().items()
    ]
    if skipped:
        parts = table("text.untitled", ["part", "method", "why"], skipped)
        yield Folded(line("tasks.skipped_parts", n=len(skipped)), (parts,))
