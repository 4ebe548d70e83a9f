"""JSON and JSON Lines."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headcats.base.errors import DataError
from headcats.tasks.files.content import UnknownLayoutError, reading
from headcats.tasks.files.records import ABSENT, Records

_CHUNK = 2**20
_OPENING, _COMMA = re.compile(r"\s*\[\s*"), re.compile(r"\s*,\s*")
_EMPTY, _CLOSING = re.compile(r"\s*\[\s*\]\s*"), re.compile(r"\s*\]\s*")


@dataclass(frozen=True)
class Entries:
    """Entries of a file that are read one by one, each time anew: of an array, or of lines, None for empty ones."""

    path: Path
    of_array: bool

    def __iter__(self) -> Iterator[Any]:
        with reading(self.path), _open(self.path) as file:
            yield from (_array if self.of_array else _lines)(file, self.path.name)


def json_content(path: Path) -> Any:
    """Content of a JSON file; an array, and JSON Lines whatever the suffix, as `Entries`."""
    with reading(path), _open(path) as file:
        head = file.read(_CHUNK).lstrip()
        first, _, others = head.partition("\n")
        if not head:
            raise DataError(f"{path.name} is empty; expected JSON or JSON Lines.")
        if head.startswith("[") or (others.strip() and _is_json(first)):
            return Entries(path, of_array=not (others.strip() and _is_json(first)))
        file.seek(0)
        content = file.read()
    try:
        return json.loads(content, object_pairs_hook=_object)
    except (ValueError, RecursionError) as problem:
        if isinstance(problem, DataError) and _is_json(content):
            raise DataError(f"{path.name}: {problem}") from None
        return Entries(path, of_array=False)


def _open(path: Path) -> Any:
    # Only line feeds separate entries: JSON strings may hold other line separators as they are.
    return open(path, encoding="utf-8-sig", newline="\n")


def _is_json(content: str) -> bool:
    try:
        json.loads(content)
    except (ValueError, RecursionError):
        return False
    return True


def _lines(file: Iterable[str], name: str) -> Iterator[Any]:
    for number, line in enumerate(file, start=1):
        try:
            entry = json.loads(line, object_pairs_hook=_object) if line.strip() else None
        except (ValueError, RecursionError) as problem:
            raise _incorrect(name, number, problem) from None
        yield entry


def _array(file: Any, name: str) -> Iterator[Any]:
    """Elements of the one array in a file, of which a part is in memory."""
    decoder, text, line, before = json.JSONDecoder(object_pairs_hook=_object), "", 1, _OPENING
    while True:
        text, place = text + (more := file.read(_CHUNK)), 0
        while start := before.match(text, place):
            try:
                value, after = decoder.raw_decode(text, start.end())
            except (ValueError, RecursionError) as problem:
                if more and not isinstance(problem, DataError | RecursionError):
                    break  # it may go on
                if before is _OPENING and _EMPTY.fullmatch(text):
                    return
                raise _incorrect(name, line + text.count("\n", 0, start.end()), problem) from None
            if after == len(text) and more:
                break  # a number may go on
            yield value
            place, before = after, _COMMA
        line, text = line + text.count("\n", 0, place), text[place:]
        if not more:
            if not _CLOSING.fullmatch(text):
                raise _incorrect(name, line, ValueError("expected ',' or the end of the array"))
            return


def _incorrect(name: str, line: int, problem: Exception) -> DataError:
    if isinstance(problem, DataError):
        return DataError(f"{name}, line {line}: {problem}")
    return DataError(f"{name} is neither JSON nor JSON Lines (line {line}: {problem}): correct it there.")


def _object(fields: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object, which Python itself would make of the last field of each name."""
    made = dict(fields)
    if len(made) < len(fields):
        (name, _), *_ = Counter(name for name, _ in fields).most_common(1)
        raise DataError(f"an object has the field {name!r} twice; rename or remove one of them.")
    return made


def json_records(entries: Iterable[Any], *, file: str, fields: Sequence[str] = ()) -> Records:
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
