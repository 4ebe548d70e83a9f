"""Questions in public files: their rows, and how columns are written -> the parts of a row.

Beside the layouts with options (`headcats.tasks.files.questions`):

{problem, generated_solution, expected_answer}   OpenMathInstruct: the solution is to be written
{question, answer}                               an answer to be written
{prompt, target, pattern}                        finished prompts: ABA/ABB of Causal Head Gating
"""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from headcats.base.errors import DataError
from headcats.tasks.files.content import JSON, SUFFIXES, check_safe
from headcats.tasks.files.json_file import Entries, json_content, json_records
from headcats.tasks.files.questions import LAYOUTS as WITH_OPTIONS
from headcats.tasks.files.questions import NO_ANSWER, NO_QUESTION, Parts, Row, as_text
from headcats.tasks.files.records import Records
from headcats.tasks.files.tables import HUB, hub_records, is_saved_dataset, saved_records, table_records

_INSIDE = "examples"
"""Field of a JSON object that holds its records."""


def question_records(source: str | os.PathLike[str] | Sequence[Mapping[str, Any]]) -> Records:
    """Rows of a file, a saved dataset, a dataset of the hub, or of records; of JSON every field that a record has."""
    if isinstance(source, Iterable) and not isinstance(source, str):
        return json_records([dict(item) if isinstance(item, Mapping) else item for item in source], file="the items")
    if not isinstance(source, str | os.PathLike):
        raise DataError(
            f"Questions are a file, {HUB}user/name, or a list of records {{'question': ..., 'answer': ...}}; got "
            f"{source!r:.60}."
        )
    if isinstance(source, str) and source.startswith(HUB):
        return hub_records(source)
    path = Path(source)
    if path.is_dir() and is_saved_dataset(path):
        return saved_records(path)
    if not path.is_file():
        raise DataError(f"There is no file {str(path)!r}; expected a file of {', '.join(SUFFIXES)}.")
    check_safe(path)
    if path.suffix.lower() not in SUFFIXES:
        raise DataError(f"{path.name} is not a file of data that headcats reads; expected {', '.join(SUFFIXES)}.")
    if path.suffix.lower() not in JSON:
        return table_records(path)
    entries = _entries(json_content(path), path.name)
    fields = dict.fromkeys(name for entry in entries if isinstance(entry, Mapping) for name in entry)
    return json_records(entries, file=path.name, fields=tuple(fields))


def _entries(content: Any, file: str) -> list[Any] | Entries:
    if isinstance(content, Mapping):
        name = next((name for name in content if name.casefold() == _INSIDE), None)
        if name is None and not any(isinstance(value, list) for value in content.values()):
            return [content]  # a record alone: the only line of JSON Lines
        if name is None:
            fields = ", ".join(map(repr, content))
            raise DataError(f"{file}: expected a list of records, or one under {_INSIDE!r}; got {fields}.")
        content = content[name]
    if not isinstance(content, list | Entries):
        raise DataError(f"{file}: expected a list of records; got {content!r:.60}.")
    return content


def _solved(row: Row) -> Parts | str:
    """OpenMathInstruct: a row without a final answer does not say whether its solution is right."""
    if "expected_answer" in row and not as_text(row["expected_answer"]):
        return NO_ANSWER
    return _written(row["problem"], row["generated_solution"])


def _written(question: Any, answer: Any) -> Parts | str:
    text, written = as_text(question), as_text(answer)
    if not text:
        return NO_QUESTION
    return (text, written, ()) if written else NO_ANSWER


def _finished(row: Row) -> Parts | str:
    """Prompt and target unchanged: spaces and line ends are part of what the model reads."""
    prompt, target = (value if isinstance(value, str) else "" for value in (row["prompt"], row["target"]))
    if not prompt:
        return NO_QUESTION
    return (prompt, target, ()) if target else NO_ANSWER


FINISHED = ("prompt", "target")
LAYOUTS: dict[tuple[str, ...], Callable[[Row], Parts | str]] = WITH_OPTIONS | {
    ("problem", "generated_solution"): _solved,
    ("question", "answer"): lambda row: _written(row["question"], row["answer"]),
    FINISHED: _finished,
}
"""Columns of a layout -> what a row of it holds, or why it is dropped; the first that fits is taken."""
