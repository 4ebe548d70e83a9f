"""Which layout a file has, and the task in it."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from headcats.base.errors import DataError
from headcats.tasks.files.content import JSON, LINES, UnknownLayoutError, check_safe
from headcats.tasks.files.finished_prompts import contrast_task, with_answers, year_task
from headcats.tasks.files.json_file import json_content, json_records
from headcats.tasks.files.options import option_task
from headcats.tasks.files.records import GROUP, Records, note_misspelt_group
from headcats.tasks.files.settings import FileSettings
from headcats.tasks.files.tables import table_records
from headcats.tasks.files.task_rows import FileTask
from headcats.tasks.files.word_pairs import relation_task, word_pair_task

LAYOUTS = (
    "columns or fields input and output; clean, corrupted, answer and wrong; question, A, B, C, D and answer; "
    "{name, samples, prompt_templates}; or {prompts: [{clean, corrupt, answers, wrong_answers}]}"
)


def file_task(path: Path, settings: FileSettings) -> FileTask:
    """Read the task of one file."""
    check_safe(path)
    if path.suffix.lower() in JSON:
        content = json_content(path)
        loaded = _of_json(content, path.name, settings)
        group = content.get(GROUP) if isinstance(content, dict) else None
        if group is None:
            note_misspelt_group(content if isinstance(content, dict) else (), file=path.name)
            return loaded
        if not isinstance(group, str) or not group.strip():
            raise DataError(f"{path.name}: expected {GROUP!r} as the name of a group; got {group!r:.40}.")
        return replace(loaded, group=group.strip())
    return record_task(table_records(path), settings)


def _of_json(content: Any, file: str, settings: FileSettings) -> FileTask:
    if isinstance(content, dict) and "samples" in content:
        return relation_task(content, file=file, templates=settings.templates)
    if isinstance(content, dict) and isinstance(content.get("prompts"), list):
        records = json_records(content["prompts"], file=file)
        ignored = [name for name in content if name != "prompts"]
        layout = "auto-circuit prompts" + (f" without {', '.join(ignored)}" if ignored else "")
        return record_task(records, settings, layout=layout)
    if isinstance(content, list):
        return record_task(json_records(content, file=file), settings)
    if isinstance(content, dict) and file.lower().endswith(LINES):
        return record_task(json_records([content], file=file), settings)
    lists = [name for name, value in content.items() if _is_records(value)] if isinstance(content, dict) else []
    if len(lists) != 1:
        raise UnknownLayoutError(f"{file}: unknown layout {_keys(content)}; expected {LAYOUTS}.")
    task = record_task(json_records(content[lists[0]], file=file), settings)
    return replace(task, layout=f"{task.layout}, under {lists[0]!r}")


def _is_records(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict)


def record_task(records: Records, settings: FileSettings, *, layout: str = "prompts") -> FileTask:
    """The task of a table of prompts, questions with options, or word pairs."""
    return replace(_table_task(records, settings, layout), group=records.group())


def _table_task(records: Records, settings: FileSettings, layout: str) -> FileTask:
    records = with_answers(records, tokenizer=settings.tokenizer)
    names = {str(column).strip().casefold() for column in records.columns}
    of_years = "label" in names and not names & {"answer", "wrong", "distractor", "wrong_answer", "corrupted_label"}
    prompts = (year_task(records) if of_years else None) or contrast_task(records, layout=layout)
    if prompts is not None:
        _refuse_templates(settings, records.file, "finished prompts")
        return prompts
    if (questions := option_task(records, answer=settings.answer)) is not None:
        _refuse_templates(settings, records.file, "questions with options")
        return questions
    if settings.answer:
        raise DataError(f"suite.toml: {records.file} holds no questions with options: leave out 'answer'.")
    if (pairs := word_pair_task(records, templates=settings.templates)) is not None:
        return pairs
    columns = ", ".join(map(repr, records.columns))
    raise UnknownLayoutError(f"{records.file}: unknown layout with the columns {columns}; {_way_out(records.columns)}.")


def _way_out(columns: Sequence[str]) -> str:
    if "one_prefix_prefix" in columns:
        return (
            "minimal pairs have no corrupted prompt. Write their prefix as 'clean', their good and bad word as "
            "'answer' and 'wrong', and as 'corrupted' a prefix after which the bad word is right (`The cats` for `The "
            "cat`)"
        )
    if len(columns) == 2:
        return f"write 'input' for {columns[0]!r} and 'output' for {columns[1]!r}, or the other way round"
    return f"rename them: expected {LAYOUTS}"


def _refuse_templates(settings: FileSettings, file: str, kind: str) -> None:
    if settings.templates:
        raise DataError(f"suite.toml: {file} holds {kind}, which take no template: leave it out.")


def _keys(content: Any) -> str:
    return f"with the fields {', '.join(map(repr, content))}" if isinstance(content, dict) else f"{content!r:.40}"
