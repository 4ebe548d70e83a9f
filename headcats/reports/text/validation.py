"""Findings of a check of the tasks: what is used, what is dropped and why, and whether each task can be judged."""

from collections.abc import Iterator, Mapping
from typing import Any

from headcats.reports.text.finding import Finding, Table, line, paragraph, table


def validation_findings(entries: Mapping[str, Mapping[str, Any]], title: str, *, corruption: str) -> Iterator[Finding]:
    """Tables of the tasks with prompts, of those that are answered in sentences, and of what is dropped and skipped.

    Args:
        entries: What `validate` returns.
        title: Model and suite.
        corruption: How prompts are corrupted.
    """
    spoken = {name: entry for name, entry in entries.items() if "word_pairs" not in entry}
    prompted = {name: entry for name, entry in entries.items() if name not in spoken}
    if prompted:
        metric = next((entry["metric"] for entry in prompted.values() if "metric" in entry), "no metric")
        yield _prompted(prompted, title=title, corruption=corruption, metric=metric)
    if spoken:
        yield _spoken(spoken, title=title)
        yield line("validation.right")
    reasons = [row for name, entry in entries.items() for row in _reasons(name, entry)]
    if reasons:
        yield table("validation.dropped", ["task", "why"], reasons)
    if prompted:
        usable = sum(not entry["refusal"] for entry in prompted.values())
        yield paragraph("validation.scored", usable=usable, n=len(prompted))
    if spoken:
        yield _conclusion(spoken)


def _prompted(entries: Mapping[str, Mapping[str, Any]], **title: str) -> Table:
    numeric = ["pairs", "prompts", "dropped", "queries", "accuracy", "corrupted", "gap", "95 % interval"]
    rows = []
    for name, entry in entries.items():
        numbers = ["-"] * 5
        if "gap" in entry:
            shares = (f"{entry['accuracy']:.2f}", f"{entry['corrupted_accuracy']:.2f}", f"{entry['gap']:.2f}")
            numbers = [str(entry["n_items"]), *shares, f"{entry['low']:.2f} to {entry['high']:.2f}"]
        counts = [entry[part] for part in ("word_pairs", "prompts")]
        dropped = sum(sum(count["dropped"].values()) for count in counts)
        rows.append([name, entry["category"], *(str(count["kept"]) for count in counts), str(dropped), *numbers])
    return table("validation.prompts", ["task", "category", *numeric], rows, numeric=numeric, **title)


def _spoken(entries: Mapping[str, Mapping[str, Any]], **title: str) -> Table:
    numeric = ["answers", "left out", "right", "95 % interval"]
    rows = []
    for name, entry in entries.items():
        numbers = ["-"] * 4
        if not entry["refusal"]:
            questions = entry["questions"]
            interval = f"{entry['low']:.2f} to {entry['high']:.2f}"
            dropped = str(sum(questions["dropped"].values()))
            numbers = [str(questions["kept"]), dropped, f"{entry['right']:.2f}", interval]
        rows.append([name, entry["category"], *numbers])
    return table("validation.answers", ["task", "category", *numeric], rows, numeric=numeric, **title)


def _reasons(task: str, entry: Mapping[str, Any]) -> list[list[str]]:
    """Why anything of a task is dropped, or the task is skipped."""
    if "word_pairs" in entry:
        parts = {part.replace("_", " "): entry[part] for part in ("word_pairs", "prompts", "reference_prompts")}
    else:
        parts = {} if entry["refusal"] else {"answers": entry["questions"]}
    rows = [
        [task, f"{count} {noun} dropped: {reason} (such as {part['examples'][reason]})"]
        for noun, part in parts.items()
        for reason, count in part["dropped"].items()
    ]
    return rows + ([[task, f"skipped: {entry['refusal']}"]] if entry["refusal"] else [])


def _conclusion(entries: Mapping[str, Mapping[str, Any]]) -> Finding:
    usable = [entry for entry in entries.values() if not entry["refusal"]]
    counts = {"usable": len(usable), "n": len(entries)}
    if not usable:
        return paragraph("validation.no_answers", **counts)
    right, wrong = (sum(entry[f"n_{side}"] for entry in usable) for side in ("right", "wrong"))
    least = usable[0]["needed"]
    return paragraph(
        "validation.probe_can_run" if min(right, wrong) >= least else "validation.probe_needs_more",
        **counts, answers=right + wrong, right=right, wrong=wrong, least=least,
    )  # fmt: skip
