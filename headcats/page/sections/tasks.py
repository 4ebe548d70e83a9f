"""The tasks: what was kept, what was dropped and why, and whether the model can do them."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from headcats.findings.table import Table
from headcats.page.material import Material
from headcats.page.parts import Folded, Part, section


@section("Tasks")
def tasks(material: Material) -> Iterator[Part]:
    """One row per task; below it what was dropped or refused."""
    entries = material.manifest["tasks"]
    if entries:
        metric = material.manifest["plan"]["metrics"][0]
        reliability = _reliability(material)
        rows = tuple(_row(task, entry, reliability.get(task, "-")) for task, entry in entries.items())
        numbers = ("pairs", "prompts", "dropped", "accuracy", "corrupted", f"gap ({metric})", "95 % interval")
        columns = ("task", "category", *numbers, "reliability")
        yield Table("", columns, rows, frozenset(columns[2:]))
        yield (
            "accuracy: share of clean prompts that the model answers right, over the whole vocabulary; corrupted: the "
            "same of the corrupted prompts, judged by the answer of the clean ones. gap: mean difference of the metric "
            "between clean and corrupted prompts. reliability: how far two halves of the prompts agree on the effects "
            "of the heads, 0 to 1 (Spearman-Brown)."
        )
        lines = tuple(line for task, entry in entries.items() for line in _dropped(task, entry))
        if lines:
            yield Folded("Dropped and refused", (Table("", ("task", "why"), lines),))
        sources = tuple((task, str(entry["source"])) for task, entry in entries.items() if entry.get("source"))
        if sources:
            yield Folded("Where the words come from", (Table("", ("task", "source"), sources),))
    refused = tuple(
        (part, label, str(one["refusal"]))
        for label, entry in material.manifest["blocks"].get("_suite", {}).items()
        for part, one in entry.get("parts", {}).items()
        if one.get("refusal")
    )
    if refused:
        yield Folded(
            f"Parts of methods over the whole suite that were refused ({len(refused)})",
            (Table("", ("part", "method", "why"), refused),),
        )


def _row(task: str, entry: Mapping[str, Any], reliability: str) -> tuple[str, ...]:
    dropped = sum(sum(entry.get(part, {}).get("dropped", {}).values()) for part in ("word_pairs", "prompts"))
    kept = [str(entry.get(part, {}).get("kept", "-")) for part in ("word_pairs", "prompts")]
    numbers = [
        f"{entry[name]:.2f}" if entry.get(name) is not None else "-"
        for name in ("accuracy", "corrupted_accuracy", "gap")
    ]
    interval = f"{entry['low']:.2f} to {entry['high']:.2f}" if entry.get("low") is not None else "-"
    named = f"{task} (refused)" if entry.get("refusal") else task
    return named, str(entry["category"]), *kept, str(dropped), *numbers, interval, reliability


def _reliability(material: Material) -> dict[str, str]:
    if not material.found:
        return {}
    found = material.found["scores"]["reliability"]
    values = zip(found["task"].values.tolist(), found.values.tolist(), strict=True)
    return {task: f"{value:.2f}" for task, value in values if np.isfinite(value)}


def _dropped(task: str, entry: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for part in ("word_pairs", "prompts", "reference_prompts"):
        for reason, count in entry.get(part, {}).get("dropped", {}).items():
            example = entry[part].get("examples", {}).get(reason)
            such = f" (such as {example})" if example else ""
            yield task, f"{count} {part.replace('_', ' ')} dropped: {reason}{such}"
    if entry.get("refusal"):
        yield task, f"refused: {entry['refusal']}"
