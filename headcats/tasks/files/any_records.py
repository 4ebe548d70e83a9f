"""Rows of a file of any format, for readers that know what its columns mean."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headcats.base.errors import DataError
from headcats.tasks.files.content import check_safe
from headcats.tasks.files.json_file import json_content, json_records
from headcats.tasks.files.layouts import DELIMITERS, JSON, SUFFIXES
from headcats.tasks.files.records import Records
from headcats.tasks.files.table_file import parquet_records, separated_records


def file_records(path: Path, *, inside: str = "") -> Records:
    """The rows of a JSON, JSON Lines, CSV, TSV or Parquet file; of JSON with every field that any record has."""
    if not path.is_file():
        raise DataError(f"There is no file {str(path)!r}; expected a file of {', '.join(SUFFIXES)}.")
    check_safe(path)
    suffix = path.suffix.lower()
    if suffix in JSON:
        entries = _entries(json_content(path), inside, path.name)
        fields = dict.fromkeys(name for entry in entries if isinstance(entry, Mapping) for name in entry)
        return json_records(entries, file=path.name, fields=tuple(fields))
    if suffix in DELIMITERS:
        return separated_records(path, delimiter=DELIMITERS[suffix])
    if suffix == ".parquet":
        return parquet_records(path)
    raise DataError(f"{path.name} is not a file of data that headcats reads; expected {', '.join(SUFFIXES)}.")


def _entries(content: Any, inside: str, file: str) -> list[Any]:
    if isinstance(content, Mapping) and inside:
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
