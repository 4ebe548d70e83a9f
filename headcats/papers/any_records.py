"""Rows of a file of any format, for readers that know what its columns mean."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headcats.base.errors import DataError
from headcats.tasks.files.content import JSON, SUFFIXES, check_safe
from headcats.tasks.files.json_file import json_content, json_records
from headcats.tasks.files.records import Records
from headcats.tasks.files.table_file import table_records


def file_records(path: Path, *, inside: str) -> Records:
    """Read any file of data; of JSON every field that a record has, of a list that may stand in the field `inside`."""
    if not path.is_file():
        raise DataError(f"There is no file {str(path)!r}; expected a file of {', '.join(SUFFIXES)}.")
    check_safe(path)
    if path.suffix.lower() not in SUFFIXES:
        raise DataError(f"{path.name} is not a file of data that headcats reads; expected {', '.join(SUFFIXES)}.")
    if path.suffix.lower() in JSON:
        entries = _entries(json_content(path), inside, path.name)
        fields = dict.fromkeys(name for entry in entries if isinstance(entry, Mapping) for name in entry)
        return json_records(entries, file=path.name, fields=tuple(fields))
    return table_records(path)


def _entries(content: Any, inside: str, file: str) -> list[Any]:
    if isinstance(content, Mapping):
        name = next((name for name in content if name.casefold() == inside.casefold()), None)
        if name is None and not any(isinstance(value, list) for value in content.values()):
            return [content]  # a record alone: the only line of JSON Lines
        if name is None:
            fields = ", ".join(map(repr, content))
            raise DataError(f"{file}: expected a list of records, or one under {inside!r}; got {fields}.")
        content = content[name]
    if not isinstance(content, list):
        raise DataError(f"{file}: expected a list of records; got {content!r:.60}.")
    return content
