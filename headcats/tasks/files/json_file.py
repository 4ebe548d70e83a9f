"""JSON and JSON Lines."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from headcats.base.errors import DataError
from headcats.tasks.files.content import UnknownLayoutError, reading
from headcats.tasks.files.records import ABSENT, Records


def json_content(path: Path) -> Any:
    """Content of a JSON file; of JSON Lines, whatever the suffix, the list of its lines, None for empty ones."""
    with reading(path):
        content = path.read_text(encoding="utf-8-sig")
    if not content.strip():
        raise DataError(f"{path.name} is empty; expected JSON or JSON Lines.")
    try:
        return json.loads(content, object_pairs_hook=_object)
    except (DataError, ValueError, RecursionError) as problem:
        if isinstance(problem, DataError) and _is_json(content):
            raise DataError(f"{path.name}: {problem}") from None
        # Only line feeds separate entries: JSON strings may hold other line separators as they are.
        lines = content.removesuffix("\n").split("\n")
        return [_line(line, number, path, problem) for number, line in enumerate(lines, start=1)]


def _is_json(content: str) -> bool:
    try:
        json.loads(content)
    except (ValueError, RecursionError):
        return False
    return True


def _line(line: str, number: int, path: Path, whole: Exception) -> Any:
    try:
        return json.loads(line, object_pairs_hook=_object) if line.strip() else None
    except DataError as problem:
        raise DataError(f"{path.name}, line {number}: {problem}") from None
    except (ValueError, RecursionError) as problem:
        raise DataError(
            f"{path.name} is neither JSON ({whole}) nor JSON Lines (line {number}: {problem}): correct it there."
        ) from None


def _object(fields: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object, which Python itself would make of the last field of each name."""
    made = dict(fields)
    if len(made) < len(fields):
        (name, _), *_ = Counter(name for name, _ in fields).most_common(1)
        raise DataError(f"an object has the field {name!r} twice; rename or remove one of them.")
    return made


def json_records(entries: Sequence[Any], *, file: str, fields: Sequence[str] = ()) -> Records:
    """Entries that are all objects with the fields of the first, or all lists of two (input, output); None is an empty
    row, and a field that another object lacks is `ABSENT`. `fields` of objects are read besides those of the first.
    """
    first = next((entry for entry in entries if entry is not None), None)
    if isinstance(first, dict) and first:
        columns, cells = tuple(dict.fromkeys([*first, *fields])), _of_object
    elif isinstance(first, list) and len(first) == 2:
        columns, cells = ("input", "output"), _of_list
    else:
        got = "none" if first is None else f"{first!r:.60}"
        raise UnknownLayoutError(
            f"{file}: expected a list of records such as {{'input': ..., 'output': ...}}; got {got}."
        )

    def read() -> Iterator[tuple[int, Sequence[Any]]]:
        for number, entry in enumerate(entries, start=1):
            yield number, () if entry is None else cells(entry, columns, f"{file}, record {number}")

    return Records(file, columns, read)


def _of_object(entry: Any, columns: tuple[str, ...], place: str) -> Sequence[Any]:
    if not isinstance(entry, dict):
        raise DataError(f"{place}: expected an object with {', '.join(columns)} as in the first; got {entry!r:.60}.")
    return [entry.get(name, ABSENT) for name in columns]


def _of_list(entry: Any, columns: tuple[str, ...], place: str) -> Sequence[Any]:
    if not isinstance(entry, list) or len(entry) != len(columns):
        raise DataError(f"{place}: expected a list of {len(columns)} texts as in the first; got {entry!r:.60}.")
    return entry
