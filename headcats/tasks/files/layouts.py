"""Which layout a file has, and the tasks in it."""

from pathlib import Path
from typing import Any

from headcats.errors import DataError
from headcats.tasks.files.cogqa import cogqa_content, is_cogqa
from headcats.tasks.files.content import check_safe
from headcats.tasks.files.contrasts import contrast_task
from headcats.tasks.files.file_task import FileContent
from headcats.tasks.files.json_file import json_content, json_records
from headcats.tasks.files.records import Records
from headcats.tasks.files.relation import relation_task
from headcats.tasks.files.settings import FileSettings
from headcats.tasks.files.table_file import parquet_records, separated_records
from headcats.tasks.files.token_ids import with_answers
from headcats.tasks.files.word_pairs import word_pair_task
from headcats.tasks.files.years import year_task

JSON = (".json", ".jsonl", ".ndjson")
DELIMITERS = {".csv": ",", ".tsv": "\t"}
SUFFIXES = (*JSON, *DELIMITERS, ".parquet")
LAYOUTS = (
    "columns or fields input and output; clean, corrupted, answer and wrong; {name, samples, prompt_templates}; "
    "{prompts: [{clean, corrupt, answers, wrong_answers}]}; or CogQA's {question, generated}"
)


def file_content(path: Path, settings: FileSettings) -> FileContent:
    """The tasks of one file: several of a CogQA file, one of any other.

    Raises:
        DataError: A file that cannot be read, whose layout is unknown, or without a usable row.
    """
    check_safe(path)
    suffix = path.suffix.lower()
    if suffix in JSON:
        return _of_json(json_content(path), path.name, settings)
    if suffix in DELIMITERS:
        return record_content(separated_records(path, delimiter=DELIMITERS[suffix]), settings)
    return record_content(parquet_records(path), settings)


def _of_json(content: Any, file: str, settings: FileSettings) -> FileContent:
    if is_cogqa(content):
        _refuse_templates(settings, file, "CogQA steps")
        return cogqa_content(content, file=file)
    if isinstance(content, dict) and "samples" in content:
        return FileContent((relation_task(content, file=file, templates=settings.templates),))
    if isinstance(content, dict) and isinstance(content.get("prompts"), list):
        records = json_records(content["prompts"], file=file)
        ignored = [name for name in content if name != "prompts"]
        layout = "auto-circuit prompts" + (f" without {', '.join(ignored)}" if ignored else "")
        return record_content(records, settings, layout=layout)
    if not isinstance(content, list):
        raise DataError(f"{file}: unknown layout {_keys(content)}; expected {LAYOUTS}.")
    return record_content(json_records(content, file=file), settings)


def record_content(records: Records, settings: FileSettings, *, layout: str = "prompts") -> FileContent:
    """The one task of a table of prompts or word pairs.

    Raises:
        DataError: Columns of no known layout, or rows that cannot be used.
    """
    records = with_answers(records, tokenizer=settings.tokenizer)
    names = {str(column).strip().casefold() for column in records.columns}
    of_years = "label" in names and not names & {"answer", "wrong", "distractor", "wrong_answer", "corrupted_label"}
    prompts = (year_task(records) if of_years else None) or contrast_task(records, layout=layout)
    if prompts is not None:
        _refuse_templates(settings, records.file, "finished prompts")
        return FileContent((prompts,))
    if (pairs := word_pair_task(records, templates=settings.templates)) is not None:
        return FileContent((pairs,))
    columns = ", ".join(map(repr, records.columns))
    raise DataError(f"{records.file}: unknown layout with the columns {columns}; rename them: expected {LAYOUTS}.")


def _refuse_templates(settings: FileSettings, file: str, kind: str) -> None:
    if settings.templates:
        raise DataError(f"suite.toml: {file} holds {kind}, which take no template: leave it out.")


def _keys(content: Any) -> str:
    return f"with the fields {', '.join(map(repr, content))}" if isinstance(content, dict) else f"{content!r:.40}"
