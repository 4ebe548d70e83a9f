"""The layout of a file, and the tasks in it."""

import functools
import itertools
import json
import re
import shlex
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

from headcats.base.errors import DataError, first_few
from headcats.tasks.files.columns import LOOKED_AT, Columns, cell, rows
from headcats.tasks.files.content import JSON, LINES, UnclearColumnsError, UnknownLayoutError, check_safe
from headcats.tasks.files.finished_prompts import contrast_task, with_answers, year_task
from headcats.tasks.files.json_file import Entries, json_content, json_records
from headcats.tasks.files.options import option_task
from headcats.tasks.files.questions import as_text
from headcats.tasks.files.records import (
    ANSWER,
    GROUP,
    INPUT,
    OUTPUT,
    TEXT,
    Records,
    by_meaning,
    meaning,
    note_misspelt_group,
)
from headcats.tasks.files.settings import FileSettings
from headcats.tasks.files.tables import table_records
from headcats.tasks.files.task_rows import FileTask
from headcats.tasks.files.word_pairs import is_link, relation_task, word_pair_task
from headcats.tasks.files.written_columns import read_columns

ENTITY = "entity"
"""Column of the names of records that are fields of one object."""


def file_tasks(path: Path, settings: FileSettings) -> dict[str, FileTask]:
    """Read the tasks of one file: what tells them apart ("" for a single one) -> task."""
    check_safe(path)
    if path.suffix.lower() in JSON:
        content = json_content(path)
        tasks = _of_json(content, path.name, settings)
        group = content.get(GROUP) if isinstance(content, dict) else None
        if group is None or isinstance(group, dict):
            note_misspelt_group(content if isinstance(content, dict) else (), file=path.name)
            return tasks
        if not isinstance(group, str) or not group.strip():
            raise DataError(f"{path.name}: expected {GROUP!r} as the name of a group; got {group!r:.40}.")
        return {name: replace(task, group=group.strip()) for name, task in tasks.items()}
    return record_tasks(table_records(path, names=settings.names), settings)


def _of_json(content: Any, file: str, settings: FileSettings) -> dict[str, FileTask]:
    if isinstance(content, dict) and "samples" in content and not settings.columns:
        return {"": relation_task(content, file=file, templates=settings.templates)}
    if isinstance(content, dict) and isinstance(content.get("prompts"), list):
        records = json_records(content["prompts"], file=file)
        ignored = [name for name in content if name != "prompts"]
        layout = "auto-circuit prompts" + (f" without {', '.join(ignored)}" if ignored else "")
        return record_tasks(records, settings, layout=layout)
    if isinstance(content, Entries):
        return record_tasks(json_records(content, file=file), settings)
    if isinstance(content, dict) and file.lower().endswith(LINES):
        return record_tasks(json_records([content], file=file), settings)
    fields = content if isinstance(content, dict) else {}
    if len(fields) > 1 and all(isinstance(value, dict) for value in fields.values()):
        entries = [{ENTITY: name, **value} for name, value in fields.items()]
        records = json_records(entries, file=file)
        try:
            return record_tasks(records, settings)
        except UnknownLayoutError:  # attributes of entities
            return record_tasks(records, replace(settings, columns=Columns({"input": ENTITY, "answer": "*"})))
    lists = [name for name, value in fields.items() if _is_records(value)]
    if len(lists) != 1:
        raise UnknownLayoutError(
            f"{file}: expected a list of records such as {{'input': ..., 'output': ...}}, alone or in one field; got "
            f"{f'the fields {first_few(list(map(repr, fields)))}' if fields else f'{content!r:.40}'}."
        )
    tasks = record_tasks(json_records(fields[lists[0]], file=file), settings)
    return {name: replace(task, layout=f"{task.layout}, under {lists[0]!r}") for name, task in tasks.items()}


def _is_records(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict)


def record_tasks(records: Records, settings: FileSettings, *, layout: str = "prompts") -> dict[str, FileTask]:
    """The tasks of a table of prompts, questions with options, or word pairs; see `file_tasks`."""
    columns = settings.columns or layout_of(records, settings.layouts)
    tasks = {}
    for name, each in [("", None)] if columns is None else columns.each(records):
        renamed = records if each is None else each.renamed(records)
        try:
            task = _table_task(renamed, settings, layout if each is None else str(each))
        except UnclearColumnsError as problem:
            raise type(problem)(f"{problem}{_advice(records, settings.path)}") from None
        group = (renamed if GROUP in renamed.columns else records).group()
        tasks[name] = replace(task, group=group)
    return tasks


def _table_task(records: Records, settings: FileSettings, layout: str) -> FileTask:
    """`layout`: what the columns are, of records that have been renamed."""
    records = with_answers(records, tokenizer=settings.tokenizer)
    of_columns = layout if records.optional else ""
    names = {meaning(column) for column in records.columns}
    of_years = "label" in names and not names & {"answer", "wrong", "distractor", "wrong_answer", "corrupted_label"}
    prompts = (year_task(records) if of_years else None) or contrast_task(records, layout=layout)
    if prompts is not None:
        _refuse_templates(settings, records.file, "finished prompts")
        return prompts
    if (questions := option_task(records, answer=settings.answer, layout=of_columns)) is not None:
        _refuse_templates(settings, records.file, "questions with options")
        return questions
    if settings.answer:
        raise DataError(f"suite.toml: {records.file} holds no questions with options: leave out 'answer'.")
    if (pairs := word_pair_task(records, templates=settings.templates, layout=of_columns)) is not None:
        return pairs
    raise UnknownLayoutError(
        f"{records.file}: which of the columns {first_few(list(map(repr, records.columns)))} is the input, and which "
        f"the answer?{nearest(records)}"
    )


def _refuse_templates(settings: FileSettings, file: str, kind: str) -> None:
    if settings.templates:
        raise DataError(f"suite.toml: {file} holds {kind}, which take no template: leave it out.")


@functools.cache
def layouts() -> dict[str, Mapping[str, Any]]:
    """The table: name -> keys as those of `read_columns`, and those that say which files these are for.

    They are `has` (columns, or fields within them), `where` (what their first texts hold) and `only` (all columns that
    may be there).
    """
    return tomllib.loads(resources.files(__package__).joinpath("layouts.toml").read_text(encoding="utf-8"))


def layout_of(records: Records, more: Mapping[str, Any]) -> Columns | None:
    """The first layout that fits, of `more` and then of the table; None if none does."""
    first = next((row for _, row in rows(records) if row), {})
    for name, entry in [*more.items(), *layouts().items()]:
        has_columns = all(cell(first, path) is not None or path in first for path in entry["has"])
        has_columns &= first.keys() <= set(map(meaning, entry.get("only", first)))
        if has_columns and all(
            re.search(held, as_text(cell(first, of))) for of, held in entry.get("where", {}).items()
        ):
            return read_columns(
                {key: of for key, of in entry.items() if key not in ("has", "where", "only")}, place=name, layout=name
            )
    return None


def nearest(records: Records) -> str:
    """The layout of the table that has most of its columns in the file, and what it lacks; "" without one."""
    names = by_meaning(records.columns, file=records.file)
    shares = {
        name: sum(meaning(path.partition(".")[0]) in names for path in entry["has"]) / len(entry["has"])
        for name, entry in layouts().items()
    }
    name = max(shares, key=lambda each: shares[each])
    lacks = [path for path in layouts()[name]["has"] if meaning(path.partition(".")[0]) not in names]
    return f" Nearest is the layout {name}, which has {first_few(lacks)}, too." if shares[name] > 0.5 else ""


def _advice(records: Records, path: str) -> str:
    """A line of suite.toml with a guess; "" without one.

    Of columns with a usual name, or else of all, the input is the one with most different texts, and the answer the one
    with the shortest. Links and numbers of rows are neither. Of a column that holds fields, each of these is one.
    """
    first = [row for _, row in itertools.islice(rows(records), LOOKED_AT) if row]
    names = by_meaning(records.columns, file=records.file)
    fields = [(bare, name) for bare in names for row in first[:1] if isinstance(row[bare], dict) for name in row[bare]]
    names |= {f"{bare}.{name}": f"{names[bare]}.{name}" for bare, name in fields}
    texts = {bare: [text for row in first if (text := as_text(cell(row, of)))] for bare, of in names.items()}
    usable = {bare: of for bare, of in texts.items() if len(of) == len(first) and not any(map(is_link, of))}
    varied = {bare: of for bare, of in usable.items() if (len(set(of)) > 1 or len(of) == 1) and "id" not in bare}
    worded = [bare for bare, of in varied.items() if any(re.search(r"[^\W\d_]", text) for text in of)]
    given = max(worded, key=lambda bare: (bare.partition(".")[0] in (*INPUT, TEXT), len(set(varied[bare]))), default="")
    answers = [bare for bare in varied if bare != given]
    answer = min(
        answers,
        key=lambda bare: (bare.partition(".")[0] not in (*OUTPUT, *ANSWER), sum(map(len, varied[bare]))),
        default="",
    )
    if not (given and answer):
        of_records = [name for bare, name in names.items() if any(_is_records(row.get(bare)) for row in first)]
        return f" {of_records[0]!r} holds records itself: write each as a record of the file." if of_records else ""
    guess = {"input": names[given], "answer": names[answer]}
    roles = ", ".join(f"{role} = {json.dumps(of, ensure_ascii=False)}" for role, of in guess.items())
    line = f"files.{json.dumps(path or records.file)}.columns = {{{roles}}}"
    is_short = not any("," in name or len(name) > 40 for name in guess.values())
    written = shlex.quote(",".join(f"{role}={name}" for role, name in guess.items()))
    return f" Say which, in a suite.toml in its folder: {line}{f' (or --columns {written})' * is_short}."
