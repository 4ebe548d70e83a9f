"""What a check of the tasks says: per task what is kept, what is dropped and why, and whether it can be judged."""

from collections.abc import Iterator, Mapping
from typing import Any

from headcats.errors import pluralize
from headcats.reports.text.table import Finding, Paragraph, Table, table


def validation_findings(entries: Mapping[str, Mapping[str, Any]], title: str, *, corruption: str) -> Iterator[Finding]:
    """Tables of the tasks with prompts, of those that are answered in sentences, and of what is dropped and refused.

    Args:
        entries: What `validate` returns.
        title: Model and suite.
        corruption: How prompts are corrupted.
    """
    spoken = {name: entry for name, entry in entries.items() if "word_pairs" not in entry}
    prompted = {name: entry for name, entry in entries.items() if name not in spoken}
    reasons: list[list[str]] = []
    if prompted:
        metric = next((entry["metric"] for entry in prompted.values() if "metric" in entry), "no metric")
        found, dropped = _prompted(prompted, f"{title}, {corruption}, gap in {metric}")
        yield found
        reasons += dropped
    if spoken:
        found, dropped = _spoken(spoken, f"{title}, answered in sentences that the model writes itself")
        yield found
        yield (
            "right: share of the answers whose exact answer is the right one. There is no gap: no prompt is corrupted, "
            "and no head is patched; the probe reads the activations while the model writes."
        )
        reasons += dropped
    reasons += [[name, f"refused: {entry['refusal']}"] for name, entry in entries.items() if entry["refusal"]]
    if reasons:
        order = list(entries)
        reasons.sort(key=lambda row: order.index(row[0]))
        yield table("Dropped and refused", ["task", "why"], reasons)
    if prompted:
        usable = sum(not entry["refusal"] for entry in prompted.values())
        yield Paragraph(f"{usable} of {pluralize(len(prompted), 'task')} can be scored.")
    if spoken:
        yield Paragraph(_conclusion(spoken))


def _prompted(entries: Mapping[str, Mapping[str, Any]], title: str) -> tuple[Table, list[list[str]]]:
    """The table, and what was dropped and why."""
    columns = [
        "task",
        "category",
        "pairs",
        "prompts",
        "dropped",
        "queries",
        "accuracy",
        "corrupted",
        "gap",
        "95 % interval",
    ]
    rows, reasons = [], []
    for name, entry in entries.items():
        numbers = ["-"] * 5
        if "gap" in entry:
            shares = (f"{entry['accuracy']:.2f}", f"{entry['corrupted_accuracy']:.2f}", f"{entry['gap']:.2f}")
            numbers = [str(entry["n_items"]), *shares, f"{entry['low']:.2f} to {entry['high']:.2f}"]
        dropped = entry["word_pairs"]["dropped"], entry["prompts"]["dropped"]
        kept = [str(entry[part]["kept"]) for part in ("word_pairs", "prompts")]
        rows.append([name, entry["category"], *kept, str(sum(sum(one.values()) for one in dropped)), *numbers])
        for part in ("word_pairs", "prompts", "reference_prompts"):
            reasons += _dropped(name, part.replace("_", " "), entry[part])
    return table(title, columns, rows, numeric=columns[2:]), reasons


def _spoken(entries: Mapping[str, Mapping[str, Any]], title: str) -> tuple[Table, list[list[str]]]:
    """The table, and what was dropped and why."""
    columns = ["task", "category", "answers", "left out", "right", "95 % interval"]
    rows, reasons = [], []
    for name, entry in entries.items():
        numbers = ["-"] * 4
        if not entry["refusal"]:
            asked = entry["questions"]
            left_out = str(sum(asked["dropped"].values()))
            interval = f"{entry['low']:.2f} to {entry['high']:.2f}"
            numbers = [str(asked["kept"]), left_out, f"{entry['right']:.2f}", interval]
            reasons += _dropped(name, "answers", asked)
        rows.append([name, entry["category"], *numbers])
    return table(title, columns, rows, numeric=columns[2:]), reasons


def _conclusion(entries: Mapping[str, Mapping[str, Any]]) -> str:
    usable = [entry for entry in entries.values() if not entry["refusal"]]
    can = f"{len(usable)} of {pluralize(len(entries), 'task')} can be probed for wrong answers."
    if not usable:
        return can
    right, wrong = (sum(entry[f"n_{side}"] for entry in usable) for side in ("right", "wrong"))
    least = usable[0]["needed"]
    can_it = (
        f"; a probe needs at least {least} of both, so it can run."
        if min(right, wrong) >= least
        else f", and a probe needs at least {least} of both: a run asks more questions of each task than this, and "
        "refuses if that is still so."
    )
    return f"{can} Of these {right + wrong} answers {right} are right and {wrong} wrong{can_it}"


def _dropped(task: str, what: str, report: Mapping[str, Any]) -> list[list[str]]:
    return [
        [task, f"{count} {what} dropped: {reason} (such as {report['examples'][reason]})"]
        for reason, count in report["dropped"].items()
    ]
