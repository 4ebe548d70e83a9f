"""Tasks and methods that a run skips, and those that are less sure."""

import logging
import re
from collections import defaultdict
from collections.abc import Mapping

from headcats.base.errors import DataError, NothingScoredError, pluralize
from headcats.results.finding import first_names
from headcats.results.manifest import Manifest
from headcats.results.records import MethodRecord, TaskRecord
from headcats.study.plan import REFERENCE_PROMPTS, Study
from headcats.study.preparation import Preparation

_NUMBER = re.compile(r"\d+(\.\d+)?")
_log = logging.getLogger("headcats")
OTHER_SUITES = (
    "\n`headcats list suites` names other suites, and `headcats validate --suite NAME` says what a model can do of one."
)


def report_skipped(preparation: Preparation, study: Study, manifest: Manifest) -> None:
    """Log which tasks and methods are skipped and why; an error if nothing is left, here and in other runs."""
    names = [task.name for task in study.cells]
    reasons = {name: reason for name, reason in manifest.skipped().items() if name in names}
    records = manifest.tasks
    given = {name: _given_answers(records[name]) for name in reasons}
    lines = "\n".join(f"  {name}: {reason}{_dropped(records[name])}{given[name]}" for name, reason in reasons.items())
    if len(reasons) == len(names) and not study.joint_methods:
        raise NothingScoredError(
            f"No task of suite {study.suite.name!r} can be scored on {preparation.model.name!r}:\n{lines}"
            f"{advice_on_gaps(records) or OTHER_SUITES}",
            refused_by=tuple(records[name].refused_by for name in reasons),
        )
    scored = [name for name in names if name not in reasons]
    unsolved = {name: records[name].accuracy or 0 for name in scored if not records[name].is_solved}
    if unsolved and study.min_logit_diff is None:
        _log.warning(
            "%d of %s scored though the model solves less than half of its prompts, and may corrupt others: %s. "
            "With min_logit_diff=0 (--min-logit-diff 0) it has to prefer the answer.",
            len(unsolved),
            pluralize(len(names), "task is", "tasks are"),
            ", ".join(f"{name} ({accuracy:.2f})" for name, accuracy in unsolved.items()),
        )
    report_shuffled({name: records[name] for name in names})
    references = {name: preparation.of(name).references.kept for name in scored}
    few = [f"{name} ({references[name]})" for name in scored if references[name] < REFERENCE_PROMPTS]
    if few and any("reference" in spec.method.options for spec in study.task_methods):
        _log.warning(
            "Fewer than %d reference prompts of %s; those with none are missing from means: %s",
            REFERENCE_PROMPTS,
            pluralize(len(few), "task"),
            ", ".join(few),
        )
    report_shares(preparation, {name: records[name] for name in scored})
    if reasons:
        _log.warning("%d of %d tasks are skipped:\n%s%s", len(reasons), len(names), lines, advice_on_gaps(records))
    blocks = [cell for cell in manifest.cells() if cell[0] in names]
    refused: dict[tuple[str, str], list[str]] = {}
    for name, label, record in blocks:
        if record.refusal:
            refused.setdefault((label, record.refusal), []).append(name)
    for (label, refusal), of_tasks in refused.items():
        tasks = f"{'task' if len(of_tasks) == 1 else 'tasks'} {', '.join(of_tasks)}"
        _log.warning("%s is skipped on %s: %s", label, tasks, refusal)
    if not study.is_whole or study.joint_methods:
        return  # others may score something
    if blocks and all(record.refusal for *_, record in blocks):
        name, label, record = blocks[0]
        raise DataError(f"Nothing is scored, on no task, by no method. {label} on task {name}: {record.refusal}")


def report_skipped_parts(study: Study, manifest: Manifest) -> None:
    """One log record on the parts of joint methods that were skipped, and why; a DataError if nothing is left."""
    reasons = {spec.label: manifest.blocks.get(spec.label, MethodRecord()).skipped() for spec in study.joint_methods}
    n_skipped = sum(map(len, reasons.values()))
    lines = "\n".join(line for label, parts in reasons.items() for line in _reason_lines(label, parts))
    parts = [record for method in manifest.joint.values() for record in method.parts.values()]
    nothing = all(record.refusal for record in parts) and len(manifest.skipped()) == len(manifest.tasks)
    if n_skipped and nothing and study.is_whole:
        raise DataError(f"Nothing can be scored on {manifest.model.name!r}:\n{lines}")
    if n_skipped:
        _log.warning("%d of %d parts are skipped:\n%s", n_skipped, len(parts), lines)


def _reason_lines(label: str, reasons: Mapping[str, str]) -> list[str]:
    """One line per reason; parts whose reasons differ in numbers alone share one."""
    groups: dict[str, dict[str, str]] = defaultdict(dict)
    for part, reason in reasons.items():
        groups[_NUMBER.sub("#", reason)][part] = reason
    lines = []
    for group in groups.values():
        first, *rest = group
        if len(set(group.values())) == 1:
            count = f" ({len(group)} parts)" if rest else ""
            lines.append(f"  {label} {', '.join(group)}{count}: {group[first]}")
        else:
            lines.append(f"  {label} {first}: {group[first]} Alike, with other numbers: {', '.join(rest)}.")
    return lines


def report_shuffled(records: Mapping[str, TaskRecord]) -> None:
    """Warn of tasks that shuffled labels corrupt, as no other task does."""
    if shuffled := [name for name, record in records.items() if record.corruption and not record.refusal]:
        _log.warning(
            "%d of %s corrupted by shuffled labels, as no other task that the model can do shares enough inputs "
            "with it: %s.",
            len(shuffled),
            pluralize(len(records), "task is", "tasks are"),
            ", ".join(shuffled),
        )


def report_shares(preparation: Preparation, records: Mapping[str, TaskRecord]) -> None:
    """Log which of these tasks leave too few prompts for `headcats evidence`, and how short lists are shared out."""
    tasks = {name: preparation.of(name).task for name in records}
    if used_up := [name for name, record in records.items() if record.is_used_up]:
        _log.warning(
            "%d of %s too few prompts left for `headcats evidence` (hc.run_evidence), which needs some that the run "
            "has not seen: %s. Give each at least %d prompts, or score fewer (--n-prompts).",
            len(used_up),
            pluralize(len(tasks), "task has", "tasks have"),
            ", ".join(used_up),
            max(preparation.least(tasks[name]) for name in used_up),
        )
    for name, task in tasks.items():
        n, n_reference = preparation.shares(task)
        if n < preparation.study.n_prompts:
            message = (
                "Task %s: %d of its prompts are scored, %d are for means and controls, and %d for `headcats evidence`."
            )
            _log.warning(message, name, n, n_reference, records[name].n_left)


def advice_on_gaps(records: Mapping[str, TaskRecord]) -> str:
    """A line on the tasks that are skipped for their accuracy and have a gap: how they are measured; "" for none."""
    gaps = [
        f"{name} ({record.gap:.2f}, 95 % interval {record.low:.2f} to {record.high:.2f})"
        for name, record in records.items()
        if record.has_gap
    ]
    if not gaps:
        return ""
    return (
        f"\nThere is a gap in {first_names(gaps, 4)}: --min-accuracy 0 --min-logit-diff 0 (min_accuracy=0, "
        "min_logit_diff=0) measures a task by it."
    )


def _dropped(record: TaskRecord) -> str:
    """Text on dropped prompts of a skipped task that has some."""
    if not record.prompts.kept or not record.prompts.dropped:
        return ""
    reasons = ", ".join(f"{number} {reason}" for reason, number in record.prompts.dropped.items())
    return f" (prompts dropped: {reasons})"


def _given_answers(record: TaskRecord) -> str:
    """Text on what the model says instead, behind the reason why a task is skipped."""
    answers = [f"to {each.prompt!r} {each.given!r}, not {each.expected!r}" for each in record.given_answers]
    return f". It answers {'; '.join(answers)}" if answers else ""
