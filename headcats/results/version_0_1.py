"""Folders of version 0.1, whose files have no checksums."""

import json
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from headcats.errors import DamagedFileError, StorageError
from headcats.results.checksum import content_of, json_content_of, json_with_checksum, read_file, with_checksum
from headcats.results.whole_file import write_whole


def add_checksums(tables: Iterable[Path], objects: Iterable[Path], *, read: Callable[[Path], object]) -> None:
    """Give files their checksums: whole ones alone, so that what is damaged is named by who reads it.

    Args:
        tables: netCDF files; those that are not there are passed over.
        objects: JSON files; the same.
        read: Reads a table, or raises a DamagedFileError.

    Raises:
        StorageError: A table may not be read, or a file not written.
    """
    for path in tables:
        try:
            read(path)
            data = read_file(path)
            if not content_of(data).has_checksum:
                write_whole(path, with_checksum(data))
        except DamagedFileError:
            continue
        except StorageError:
            if path.exists():
                raise
    for path in objects:
        with suppress(OSError, DamagedFileError, ValueError):  # ValueError: it holds no JSON
            if not (content := json_content_of(read_file(path))).has_checksum and json.loads(content.data):
                write_whole(path, json_with_checksum(content.data.decode("utf-8")))
