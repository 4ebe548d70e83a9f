"""Findings on tasks, of a run or of a check before it: what is used, dropped and skipped, and what can be judged."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from headcats.base.errors import pluralize
from headcats.evidence.confounders import beforehand
from headcats.evidence.findings import coincidence_findings, remedy
from headcats.evidence.power import own_sources, power_findings
from headcats.results.finding import Finding, Prompts, Table, interval_text, line, number_text, paragraph, table
from headcats.results.records import COUNTED, LONG_ANSWER, DropCounts, TaskRecord
from headcats.results.run_results import RunResults

FEW_ITEMS = 20
_SHOWN_SOURCES = 4
_CONTINUED_BY = {"clean": "answer", "corrupted": "distractor"}


def task_rows(records: Mapping[str, TaskRecord], columns: Sequence[str]) -> list[list[str]]:
    """Name, category and the numbers of `columns` of every task; `7 of 12` are kept where the others are dropped."""
    rows = []
    for task, record in records.items():
        numbers = {
            "rows": _kept(record.rows),
            "pairs": _kept(record.word_pairs),
            "prompts": _kept(record.prompts),
            "queries": number_text(record.n_items, 0),
            "accuracy": number_text(record.accuracy),
            "corrupted": number_text(record.corrupted_accuracy),
            "gap": number_text(record.gap),
            "95 % interval": interval_text(record.low, record.high),
        }
        rows.append([task, record.category, *(numbers[column] for column in columns)])
    return rows


def count_columns(records: Mapping[str, TaskRecord]) -> list[str]:
    """The columns of what is kept: of rows where a task is from a file, of pairs where prompts are made of words."""
    of_rows, of_words = (
        any(getattr(record, name).kept is not None for record in records.values()) for name in ("rows", "word_pairs")
    )
    return [*["rows"] * of_rows, *["pairs"] * of_words, "prompts"]


def _kept(counts: DropCounts) -> str:
    if counts.kept is None or not counts.dropped:
        return number_text(counts.kept, 0)
    return str(line("tasks.kept_of", kept=counts.kept, n=counts.total))


def dropped_rows(task: str, record: TaskRecord, **answers: DropCounts) -> Iterator[tuple[str, str]]:
    """Why anything of a task is dropped or counts too often, how its prompts differ, and why the task is skipped."""
    parts = {name: getattr(record, name) for name in COUNTED} | answers
    for name, count in parts.items():
        for reason, number in count.dropped.items():
            example = line("tasks.example", of=count.examples[reason]) if reason in count.examples else None
            counted = pluralize(number, name.replace("_", " ").removesuffix("s"))
            share = line("tasks.share", share=number / count.total, n=count.total) if count.kept else None
            yield task, str(line("tasks.dropped_for", counted=counted, share=share, reason=reason, example=example))
    if record.rows.kept and (record.n_items or FEW_ITEMS) < min(FEW_ITEMS, (record.prompts.kept or 0) / 2):
        yield task, str(line("tasks.few_items", n=record.prompts.kept, items=record.n_items))
    if record.near_duplicates:
        yield task, str(line("tasks.near_duplicates", n=record.near_duplicates))
    if record.corruption:
        yield task, str(line("tasks.other_corruption", corruption=record.corruption.replace("_", " ")))
    if record.refusal:
        otherwise = line("tasks.has_gap") if record.has_gap else None
        yield task, str(line("tasks.skipped_for", reason=record.refusal, otherwise=otherwise))
    elif not record.is_solved:
        yield task, str(line("tasks.unsolved", accuracy=record.accuracy))
    for each in record.given_answers:
        texts = {name: repr(text) for name, text in each.to_dict().items()}
        yield task, str(line("tasks.given_answer", **texts))


def corruptions(run: RunResults, tasks: Iterable[str]) -> Iterator[Finding]:
    """Count tasks by how their prompts are corrupted; nothing where all are as the plan says."""
    manifest = run.manifest_or_empty
    records = [manifest.tasks[task] for task in tasks if task in manifest.tasks]
    by_kind: dict[str, list[str]] = {}
    for record in records:
        usual = "prompts as given" if record.word_pairs.kept is None else manifest.plan.corruption
        by_kind.setdefault((record.corruption or usual).replace("_", " "), []).append(record.category)
    if len(by_kind) < 2 and not any(record.corruption for record in records):
        return
    kinds = []
    for kind, categories in sorted(by_kind.items(), key=lambda pair: len(pair[1])):
        counts = [f"{name} {n}" for name, n in Counter(categories).items()]
        among = line("answer.among", counts=counts) if len({record.category for record in records}) > 1 else None
        kinds.append(line("answer.corruption", kind=kind, n=len(categories), among=among))
    yield line("answer.corruptions" if len(kinds) > 1 else "answer.other_corruption", kinds=kinds)


def source_findings(records: Mapping[str, TaskRecord]) -> Iterator[Finding]:
    """Count the independent sources of tasks, and name those of several; nothing of one task or of unknown sources."""
    members: dict[str, list[str]] = {}
    for task, record in records.items():
        members.setdefault(record.independent_source, []).append(task)
    if len(records) < 2 or "" in members:
        return
    joined = [tasks for tasks in members.values() if len(tasks) > 1]
    if not joined:
        yield paragraph("tasks.unrelated", n=len(records))
        return
    shown = [
        line("tasks.joined", tasks=tasks, joined_by=_reasons(records[task] for task in tasks))
        for tasks in joined[:_SHOWN_SOURCES]
    ]
    rest = len(joined) - len(shown)
    more = line("tasks.more_joined", n=rest) if rest else None
    yield paragraph("tasks.independent", n=len(records), sources=len(members), joined=shown, more=more)


def _reasons(records: Iterable[TaskRecord]) -> str:
    """Reasons that join the tasks of one source, a group with its name."""
    named = (record.joined_by.replace("group", f"group {record.independent_source!r}") for record in records)
    return ", ".join(dict.fromkeys(reason for reasons in named for reason in reasons.split(", ") if reason))


def validation_findings(
    entries: Mapping[str, Mapping[str, Any]], title: str, *, corruption: str, answers: str, ignored: Sequence[str] = ()
) -> Iterator[Finding]:
    """Findings of `validate`: tasks with prompts, those that are answered in sentences, and what is dropped."""
    records = {name: TaskRecord.from_dict(entry) for name, entry in entries.items()}
    prompted = {name: record for name, record in records.items() if "prompts" in entries[name]}
    spoken = {name: entry for name, entry in entries.items() if name not in prompted}
    questions = {name: DropCounts.from_dict(entry.get("questions", {})) for name, entry in spoken.items()}
    if prompted:
        metric = next((record.metric for record in prompted.values() if record.metric), "no metric")
        # Without the category in a column of its own, and without what says least, this fits 80 columns.
        columns = [*count_columns(prompted), "accuracy", "gap", "95 % interval"]
        how = corruption.replace("_", " ") if "pairs" in columns else line("validation.finished")
        yield table(
            "validation.prompts", ["task", *columns], _under_categories(task_rows(prompted, columns)), numeric=columns,
            title=title, corruption=how, answers=answers, metric=metric,
        )  # fmt: skip
    if spoken:
        yield _spoken(spoken, questions, title=title)
        yield line("validation.right")
    reasons = [
        row
        for name, record in records.items()
        for row in dropped_rows(name, record, **({"answers": questions[name]} if name in questions else {}))
    ]
    reasons += [
        (name, str(line(f"tasks.{doubt}", n=n, **{"least": LONG_ANSWER} if doubt == "long_answers" else {})))
        for name, entry in entries.items()
        for doubt, n in entry.get("doubts", {}).items()
    ]
    if reasons:
        yield table("validation.dropped", ["task", "why"], reasons)
    if ignored:
        yield paragraph("validation.ignored", n=len(ignored), names=list(ignored))
    if prompted:
        usable = sum(not record.refusal for record in prompted.values())
        yield paragraph("validation.scored", usable=usable, n=len(prompted))
        used = {name: record for name, record in prompted.items() if not record.refusal}
        yield from source_findings(used)
        sources = own_sources(
            {name: record.independent_source for name, record in used.items()},
            {name: record.category for name, record in used.items()},
        )
        inseparable, coincide = beforehand(used) if len(sources) > 1 else ({}, ())
        yield from coincidence_findings({name: inseparable.get(name, ()) for name in sources}, coincide)
        if "pairs" in columns and corruption == "other_task":
            yield from remedy(coincide)
        n_items = (record.n_items or 0 for record in used.values())
        yield from power_findings(sources, n_items, inseparable=inseparable)
    if spoken:
        yield _conclusion(spoken)


def _under_categories(rows: Sequence[Sequence[str]]) -> Iterator[list[str]]:
    """Rows of task, category and numbers as rows without the category, which heads those of its tasks."""
    categories = list(dict.fromkeys(category for _, category, *_ in rows))
    for name in categories:
        of_category = [[task, *numbers] for task, category, *numbers in rows if category == name]
        if len(categories) == 1:
            yield from of_category
            return
        yield [name, *[""] * (len(of_category[0]) - 1)]
        yield from ([f"  {task}", *numbers] for task, *numbers in of_category)


def _spoken(entries: Mapping[str, Mapping[str, Any]], answers: Mapping[str, DropCounts], *, title: str) -> Table:
    numeric = ["answers", "left out", "right", "95 % interval"]
    rows = []
    for name, entry in entries.items():
        numbers = ["-"] * 4
        if not entry["refusal"]:
            counts = (answers[name].kept, sum(answers[name].dropped.values()))
            numbers = [*map(str, counts), number_text(entry["right"]), interval_text(entry["low"], entry["high"])]
        rows.append([name, entry["category"], *numbers])
    return table("validation.answers", ["task", "category", *numeric], rows, numeric=numeric, title=title)


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


def first_prompts(entries: Mapping[str, Mapping[str, Any]]) -> Iterator[Finding]:
    """Explain, then list the clean and corrupted prompt of every task that has one, token by token."""
    first = [entry["first_prompt"] for entry in entries.values() if "first_prompt" in entry]
    if first:
        token, written = first[0]["bos"], first[0]["bos_written"]
        bos = line("validation.bos", token=token) if token else None
        has_parts = any("" in texts[name] for texts in first for pair in _CONTINUED_BY.items() for name in pair)
        parts = line("validation.parts") if has_parts else None
        yield paragraph("validation.first_prompts", bos=bos, parts=parts)
        if token != written:
            yield paragraph(f"validation.bos_{'asked' if written else 'put'}", token=written or token)
    for name, entry in entries.items():
        about = {"task": name, "category": entry["category"], "source": entry["source"]}
        if "first_prompt" in entry:
            yield Prompts("validation.first_prompt", about, prompts=_prompts(entry["first_prompt"]))
        elif "prompts" in entry:
            yield paragraph("validation.first_prompt", **about)


def _prompts(texts: Mapping[str, Any]) -> dict[str, tuple[tuple[str, ...], tuple[str, ...]]]:
    bos = [texts["bos"]] if texts["bos"] else []
    return {prompt: ((*bos, *texts[prompt]), tuple(texts[word])) for prompt, word in _CONTINUED_BY.items()}
