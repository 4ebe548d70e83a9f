"""One writer of a results folder at a time, and nobody left waiting for a dead one."""

import contextlib
import datetime
import errno
import json
import os
import platform
import threading
from collections.abc import Iterator
from pathlib import Path

from filelock import BaseFileLock, FileLock, Timeout

from headcats.base.errors import OccupiedError, StorageError
from headcats.results.whole_file import below_a_file, check_path, regular, remove_empty, remove_leftovers, write_whole

LOCK, WRITER = ".writer.lock", ".writer.json"
RUN = "headcats run"
"""Name of a run to those who come second."""
_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)
_PATIENCE = 10.0  # seconds: longer than a report takes, shorter than anybody wants to wait in silence

_held: set[tuple[int, Path]] = set()
"""Threads of this process, and the folders that each is writing."""


@contextlib.contextmanager
def held_for_writing(folder: Path, *, by: str) -> Iterator[None]:
    """Hold the write lock of a folder, which is made, over all processes that see it.

    The system gives the lock of a process back when it dies, so none is stale; the empty file that is locked stays,
    since who waits for it would otherwise lock a file that nobody sees. A thread that has the folder already goes on.
    On leaving, a folder that nothing was written to is removed again, and so is the lock of who fails at first. An
    OccupiedError if another writer, which `by` names to those who come second, did not end within ten seconds.
    """
    check_path(folder)
    key = threading.get_ident(), folder.resolve()
    if key in _held:
        yield
        return
    absent = [each for each in (folder, *folder.parents) if not each.exists()]
    keeps_lock = (folder / LOCK).exists()
    try:
        lock = _lock(folder)
    except Timeout:
        raise OccupiedError(_occupied(folder, by)) from None
    except (OSError, NotImplementedError) as error:  # the second by old versions of filelock, where there are no locks
        remove_empty(absent)
        lacks_locks = getattr(error, "errno", errno.ENOSYS) in _NO_LOCKS
        advice = "Its disk has no file locks: choose" if lacks_locks else "Make it writable or choose"
        problem = below_a_file(folder) or f"{getattr(error, 'strerror', None) or error}. {advice} another folder."
        raise StorageError(f"Cannot write to {folder}: {problem}") from None
    _held.add(key)
    try:
        write_whole(folder / WRITER, json.dumps(_this_process(by)).encode("utf-8"))
        remove_leftovers(folder)
        yield
        keeps_lock = True
    finally:
        _held.discard(key)
        with contextlib.suppress(OSError):
            (folder / WRITER).unlink(missing_ok=True)
            if not keeps_lock or os.listdir(folder) == [LOCK]:
                (folder / LOCK).unlink()
        lock.release()
        remove_empty(absent)


def _lock(folder: Path) -> BaseFileLock:
    # Else filelock takes a lock that outlives its process, where there are no others, with a warning of its own.
    lock = FileLock(folder / LOCK, fallback_to_soft=False)
    while True:
        folder.mkdir(parents=True, exist_ok=True)
        try:
            lock.acquire(timeout=_PATIENCE)
            return lock
        except FileNotFoundError:
            if folder.is_dir():
                raise
            # Its writer has written nothing and removed it.


def _this_process(by: str) -> dict[str, str | int]:
    since = datetime.datetime.now(datetime.UTC).isoformat(sep=" ", timespec="seconds")
    return {"command": by, "process": os.getpid(), "host": platform.node(), "since": since}


def _occupied(folder: Path, by: str) -> str:
    try:
        writer = json.loads(regular(folder / WRITER).read_text(encoding="utf-8"))
        who = f"`{writer['command']}` (process {writer['process']} on {writer['host']}, since {writer['since']})"
    except (OSError, ValueError, KeyError, TypeError):  # it has just begun or ended
        who = "another process"
    at_once = (
        "; to run several tasks or methods at once, give each run a folder of its own (--out, out=...) and join them "
        "with `headcats merge`"
    )
    return f"{folder} is being written by {who}. Repeat this when that has ended{at_once if by == RUN else ''}."
