"""The one writer of files: each appears complete or not at all."""

import contextlib
import csv
import errno
import itertools
import os
import platform
import re
import threading
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import pandas as pd

from headcats.base.errors import StorageError

TEMPORARY = ".*.tmp"
"""Pattern of the names that files have until they are complete."""
_OWNER = re.compile(r"\.(?P<process>\d{1,9})-\d+@(?P<host>.*)\.tmp$")  # process, thread and host
_DEVICES = Path("/dev")  # /dev/stdout is a link, to a file where output goes to one
_LONGEST = 60  # bytes of the part of a temporary name that tells people what it is
_ABANDONED = 3600.0  # seconds: no file takes as long to write


def write_whole(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file under a temporary name, flush it to the disk, and rename it; its folder is made.

    A link is replaced, never followed: results of others may hold some that lead anywhere. A StorageError (a device, a
    folder that cannot be written, a full disk) leaves nothing behind, and a file that was there stays as it was.
    """
    target = Path(path)
    check_path(target)
    is_special = target.exists() and not target.is_file() and not target.is_dir()
    if is_special or target.parent.resolve() == _DEVICES:
        raise StorageError(f"Cannot write {target}: it is a device or a pipe. Name a file.")
    temporary = target.with_name(_temporary_name(target.name))
    absent = [folder for folder in target.parents if not folder.exists()]
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            with open(temporary, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, target)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        remove_empty(absent)
        if problem := below_a_file(target.parent):
            raise StorageError(f"Cannot write {target}: {problem}") from None
        advice = "Free space" if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG) else "Make it writable"
        raise StorageError(
            f"Cannot write {target}: {error.strerror or error}. {advice} or choose another folder. Files written "
            "before are complete, and the same command goes on from them."
        ) from None


def sync_folder(folder: Path) -> None:
    """Flush the names of the files in a folder to the disk, where the system can."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _temporary_name(name: str) -> str:
    start = os.fsencode(name)[:_LONGEST].decode("utf-8", "ignore")
    return f".{start}.{os.getpid()}-{threading.get_ident()}@{_host()}.tmp"


def remove_leftovers(folder: Path) -> None:
    """Delete temporary files that killed processes left behind, and none of a process that may still be writing.

    Files of another host, whose processes cannot be asked, are deleted once they are old.
    """
    for path in list(folder.rglob(TEMPORARY)):
        owner = _OWNER.search(path.name)
        with contextlib.suppress(OSError):  # gone, or of another user, for example
            if owner is not None and not _lives(int(owner["process"]), owner["host"], path):
                path.unlink(missing_ok=True)


def _lives(process: int, host: str, path: Path) -> bool:
    if host != _host():
        return time.time() - path.stat().st_mtime < _ABANDONED
    import psutil  # takes a while, and there are leftovers only after a kill

    return psutil.pid_exists(process)


def _host() -> str:
    return re.sub(r"[^A-Za-z0-9_-]", "_", platform.node())[:_LONGEST]


def csv_bytes(table: pd.DataFrame) -> bytes:
    """Content of a CSV file: UTF-8, the same line ends everywhere, and names as they are, those like `=1+1` too."""
    text = table.to_csv(index=False, lineterminator="\n")
    if "\r" in text:  # readers take it for the end of a line, and before Python 3.13 it is not put into quotes
        text = table.to_csv(index=False, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    return text.encode("utf-8")


def remove_empty(folders: Sequence[Path]) -> None:
    """Remove folders, innermost first, up to the first that holds something."""
    for folder in folders:
        try:
            folder.rmdir()
        except OSError:
            return


def check_path(path: Path) -> None:
    """Raise a StorageError for a path that is too long, holds a NUL, is a circle of links or may not be looked into."""
    try:
        os.stat(os.path.join(path, "."))  # looks into a folder, too
    except (FileNotFoundError, NotADirectoryError):
        return
    except PermissionError as error:
        raise StorageError(
            f"{path} may not be looked into: {error.strerror}. Ask its owner for it, or name another."
        ) from None
    except (OSError, ValueError) as error:
        problem = getattr(error, "strerror", None) or error
        raise StorageError(f"{str(path)!r:.300} cannot be used as a path: {problem}. Name another.") from None


def regular(path: Path) -> Path:
    """The path of a file to read; an OSError for a pipe or a device, which might never end."""
    if os.path.exists(path) and not path.is_file() and not path.is_dir():
        raise OSError(errno.EINVAL, "it is no regular file")
    return path


def check_links(folder: Path, parts: Iterable[str]) -> None:
    """Raise a StorageError for a link out of a folder that others may have made: it would be read, or replaced.

    `parts` are patterns of what is looked through. A cache of the hub links to files beside its snapshots.
    """
    home, links = folder.resolve(), list[Path]()
    roots = (home, *(parent.parent / "blobs" for parent in home.parents if parent.name == "snapshots"))
    for part in itertools.chain.from_iterable(map(folder.glob, parts)):
        inside = () if os.path.islink(part) else os.walk(part)
        paths = (Path(place, name) for place, folders, files in inside for name in (*folders, *files))
        links += filter(os.path.islink, (part, *paths))  # False where nobody may look
    for link in links:
        if not any(os.path.realpath(link).startswith(f"{root}{os.sep}") for root in roots):
            raise StorageError(f"{link} is a link out of {folder}. Put there what it leads to, or remove it.")


def below_a_file(folder: Path) -> str:
    """Why a folder cannot be made, where part of its path is a file; "" for any other."""
    obstacle = next((part for part in (folder, *folder.parents) if part.is_file()), None)
    if obstacle is None:
        return ""
    return f"{obstacle} is a file, and no folder can be below it. Remove it, or name another folder."
