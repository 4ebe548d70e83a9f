"""Checksums that files carry, so that damage is seen before anything is parsed.

A netCDF file ends in its checksum, which HDF5 does not read; a JSON object has it as its last entry. It is stored in
the file itself, so that neither a copy nor a kill separates them. Lines of text may end as Git for Windows writes them.
"""

import hashlib
import os
import re
from pathlib import Path

from headcats.base.errors import DamagedFileError
from headcats.results.whole_file import regular

_MARK = b"\nheadcats blake2b "
_DIGITS = 32
_TAIL = len(_MARK) + _DIGITS
_MOST_BRACKETS = 2_000_000  # that open in JSON, where an object takes three bytes, and in Python a hundred

_ENTRY = re.compile(r',\n"checksum":"([0-9a-f]{32})"(?=\s*\}\s*\Z)')


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
