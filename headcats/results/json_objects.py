"""JSON objects of a results folder: with a format, with a checksum, and with a line for every entry."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headcats.base.errors import DamagedFileError, StorageError
from headcats.results.checksum import json_content_of, read_file

FORMAT = 6
"""Format of a results folder and of a series; a folder of another format is refused."""
_FORMAT = re.compile(rb'\s*\{\s*"format":\s*(\d{1,9})\b')


def in_lines(value: Any, *, levels: int = 3) -> str:
    """JSON with a line for every entry of the upper levels, such as a block; `indent` would take 20 times as long."""
    if not levels or not isinstance(value, Mapping) or not value:
        return json.dumps(value, ensure_ascii=False)
    lines = (f"{json.dumps(key, ensure_ascii=False)}: {in_lines(of, levels=levels - 1)}" for key, of in value.items())
    return "{\n" + ",\n".join(lines) + "\n}"


def read_object(path: Path) -> dict[str, Any]:
    """Read a JSON file with a checksum; OSError where that fails, and the errors of `parse_object`."""
    data = read_file(path)
    check_format(data, source=str(path))  # before the checksum, which other formats may lack
    return parse_object(json_content_of(data), source=str(path))


def parse_object(data: bytes, *, source: str) -> dict[str, Any]:
    """Parse a JSON object of this format; a DamagedFileError says what is wrong with another."""
    check_format(data, source=source)
    try:
        stored = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise DamagedFileError(f"it is no JSON ({error})") from None
    if not isinstance(stored, dict):
        raise DamagedFileError(f"it holds a {type(stored).__name__}")
    if (version := stored.get("format", FORMAT)) != FORMAT:
        raise DamagedFileError(f"its format is {version!r}, not {FORMAT}")
    return stored


def check_format(data: bytes, *, source: str) -> None:
    """Refuse JSON that begins with another format: a StorageError; whether it is JSON is not looked at."""
    if (stated := _FORMAT.match(data)) and (version := int(stated[1])) != FORMAT:
        advice = "run it again, into a new folder" if version < FORMAT else "pip install --upgrade headcats"
        raise StorageError(
            f"{source} has format {version}, and this version of headcats reads format {FORMAT}: {advice}."
        )
