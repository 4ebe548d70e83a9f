"""Format of stored files: its number, JSON line by line, and checksums, by which damage is seen before parsing.

A netCDF file ends in its checksum, which HDF5 does not read; a JSON object has it as its last entry. It is stored in
the file itself, so that neither a copy nor a kill separates them. Lines of text may end as Git for Windows writes them.
"""

import hashlib
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headcats.base.errors import DamagedFileError, StorageError
from headcats.results.whole_file import regular

_MARK = b"\nheadcats blake2b "
_DIGITS = 32
_TAIL = len(_MARK) + _DIGITS
_MOST_BRACKETS = 2_000_000  # that open in JSON, where an object takes three bytes, and in Python a hundred

_ENTRY = re.compile(r',\n"checksum":"([0-9a-f]{32})"(?=\s*\}\s*\Z)')
FORMAT = 6
"""Format of a results folder and of a series; a folder of another format is refused."""
_FORMAT = re.compile(rb'\s*\{\s*"format":\s*(\d{1,9})\b')


def read_file(path: Path) -> bytes:
    """The content of a file; an OSError for one that cannot be read, such as a pipe, which might never end."""
    return regular(path).read_bytes()


def checksum(data: bytes) -> str:
    """BLAKE2b of 16 bytes, in hexadecimal digits."""
    return hashlib.blake2b(data, digest_size=_DIGITS // 2).hexdigest()


def with_checksum(data: bytes) -> bytes:
    """The content of a binary file, with its checksum behind it."""
    return data + _MARK + checksum(data).encode("ascii")


def content_of(data: bytes) -> bytes:
    """Take the checksum off a binary file, or raise a DamagedFileError if it does not fit or there is none."""
    return _verified(data[:-_TAIL], stated_checksum(data))


def stated_checksum(data: bytes) -> str:
    """The checksum at the end of a binary file, whether it fits or not; "" without one."""
    return data[-_DIGITS:].decode("ascii", errors="replace") if data[-_TAIL:-_DIGITS] == _MARK else ""


def stated_in(path: str | os.PathLike[str], *, least: float) -> str:
    """`stated_checksum` of a regular file, of which only the end is read; "" of one with fewer bytes than `least`."""
    with open(path, "rb", buffering=0) as file:
        size = file.seek(0, os.SEEK_END)
        if size < max(least, _TAIL):
            return ""
        file.seek(-_TAIL, os.SEEK_END)
        return stated_checksum(file.read())


def json_with_checksum(text: str) -> bytes:
    """The content of a JSON file: an object that is not empty, with its checksum as the last entry."""
    end = len(text[: text.rindex("}")].rstrip())
    return f'{text[:end]},\n"checksum":"{checksum(text.encode("utf-8"))}"{text[end:]}'.encode()


def json_content_of(data: bytes) -> bytes:
    """Take the checksum off a JSON file, or raise a DamagedFileError if it does not fit or there is none."""
    try:
        text = data.replace(b"\r\n", b"\n").decode("utf-8")  # strings of JSON hold no line ends
    except UnicodeDecodeError:
        raise DamagedFileError("it is no UTF-8 text") from None
    if (n := text.count("[") + text.count("{")) > _MOST_BRACKETS:
        raise DamagedFileError(f"it has {n:,} opening brackets, and what was written has {_MOST_BRACKETS:,} at most")
    entry = _ENTRY.search(text)
    if entry is None:
        return _verified(data, "")
    return _verified((text[: entry.start()] + text[entry.end() :]).encode("utf-8"), entry[1])


def _verified(data: bytes, stated: str) -> bytes:
    if not stated:
        raise DamagedFileError("it lacks its checksum, so it is not whole")
    if checksum(data) != stated:
        raise DamagedFileError("its checksum does not fit its content: it was damaged, or changed by hand")
    return data


def in_lines(value: Any, *, levels: int = 3) -> str:
    """JSON with a line for every entry of the upper levels, such as a block; `indent` would take 20 times as long."""
    if not levels or not isinstance(value, Mapping) or not value:
        return json.dumps(value, ensure_ascii=False)
    lines = (f"{json.dumps(key, ensure_ascii=False)}: {in_lines(of, levels=levels - 1)}" for key, of in value.items())
    return "{\n" + ",\n".join(lines) + "\n}"


def read_object(path: Path) -> dict[str, Any]:
    """Read a JSON file with a checksum; a StorageError where that fails, and the errors of `parse_object`."""
    try:
        data = read_file(path)
    except OSError as error:
        raise StorageError(f"{path} cannot be read: {error.strerror or error}.") from None
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
