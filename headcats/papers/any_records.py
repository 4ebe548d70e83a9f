"""Rows of a file of any format, and their languages, for readers that know what its columns mean."""

import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from headcats.base.errors import DataError
from headcats.tasks.files.content import JSON, SUFFIXES, check_safe
from headcats.tasks.files.json_file import json_content, json_records
from headcats.tasks.files.questions import as_text
from headcats.tasks.files.records import Records
from headcats.tasks.files.table_file import table_records

FIELDS = ("language", "lang")
"""Fields that name the language of a row."""
# Japanese mixes them: which one most letters have differs from row to row.
_EAST_ASIAN = ("CJK", "HIRAGANA", "KATAKANA")


def file_records(path: Path, *, inside: str = "") -> Records:
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


def language_of(row: Mapping[str, Any], texts: Sequence[str]) -> str:
    """The language that a row names, else the script of most letters of its texts, such as LATIN; "" without any."""
    return next(filter(None, (as_text(row.get(name)) for name in FIELDS)), "") or _script("".join(texts))


def other_languages(languages: Sequence[str]) -> dict[int, str]:
    """Place of a row in another language than most -> why it is dropped; a row without one fits any."""
    counts = Counter(filter(None, languages))
    most = counts.most_common(1)[0][0] if counts else ""
    return {
        place: f"in another language or script ({language}, most are {most})"
        for place, language in enumerate(languages)
        if language not in ("", most)
    }


def _script(text: str) -> str:
    letters = filter(str.isalpha, text)
    if text.isascii():
        return "LATIN" if any(letters) else ""
    scripts = Counter(unicodedata.name(letter, "LATIN").split()[0].split("-")[0] for letter in letters)
    if not scripts:
        return ""
    script = scripts.most_common(1)[0][0]
    return "CJK" if script in _EAST_ASIAN else script
