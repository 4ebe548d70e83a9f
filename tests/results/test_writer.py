"""One writer at a time: a second one is told who the first is, and nobody waits for the dead."""

import errno
import json
import os
import platform
import re
import subprocess
import sys
import threading

import pytest
from for_each import for_each
from results.folders import files, folder

from headcats.base.errors import OccupiedError, StorageError
from headcats.results import writer
from headcats.results.folder import ResultsFolder
from headcats.results.loading import load
from headcats.results.whole_file import remove_leftovers
from headcats.results.writer import LOCK, RUN, WRITER

HOLD = """
import sys
from headcats.results.folder import ResultsFolder
with ResultsFolder(sys.argv[1]).writing("a long command"):
    print("holding", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(writer, "_PATIENCE", 0.0)


@pytest.fixture
def other(tmp_path):
    """Another process that writes the folder `r`, until its input ends or it is killed."""
    command = [sys.executable, "-c", HOLD, str(tmp_path / "r")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "holding\n"
        yield process
        process.kill()


def test_a_second_process_is_told_who_writes(tmp_path, other, impatient):
    path = folder(tmp_path / "r", "a")
    with pytest.raises(OccupiedError) as error, ResultsFolder(path).writing("another"):
        raise AssertionError("two at once")
    told = re.search(r"`a long command` \(process (\d+) on (.+), since (.+ .+)\)", str(error.value))
    assert told.groups()[:2] == (str(other.pid), platform.node())
    assert "headcats merge" not in str(error.value)
    with pytest.raises(OccupiedError, match="headcats merge"), ResultsFolder(path).writing(RUN):
        raise AssertionError("two at once")
    assert list(load(path)["a"].children), "readers are not held up"


def test_a_killed_writer_leaves_no_lock_behind(tmp_path, other, impatient):
    path = folder(tmp_path / "r", "a")
    other.kill()
    other.wait()
    assert (path / WRITER).is_file(), "it could not take it away"
    with ResultsFolder(path).writing("another"):
        assert json.loads((path / WRITER).read_text(encoding="utf-8"))["process"] == os.getpid()
    assert [each.name for each in path.glob(".writer*")] == [LOCK]


def test_who_waits_goes_on_when_the_first_ends(tmp_path, other):
    path = tmp_path / "r"
    threading.Timer(0.3, other.stdin.close).start()
    with ResultsFolder(path).writing("another"):
        assert other.wait() == 0
    assert list(path.iterdir()) == []


def test_a_thread_goes_on_with_what_it_holds_and_another_one_does_not(tmp_path, impatient):
    path, told = tmp_path / "r", []

    def second():
        try:
            with ResultsFolder(path).writing("second"):
                pass
        except OccupiedError as error:
            told.append(str(error))

    with ResultsFolder(path).writing("first"):
        with ResultsFolder(path).writing("first, within"):
            folder(path, "a")
        assert (path / LOCK).exists(), "the outer one still holds it"
        thread = threading.Thread(target=second)
        thread.start()
        thread.join()
    assert len(told) == 1
    assert "`first`" in told[0]


def test_somebody_elses_folder_is_not_touched(tmp_path):
    (tmp_path / "thesis.tex").write_text("x", encoding="utf-8")
    before = files(tmp_path)
    for name in (tmp_path, tmp_path / "thesis.tex", tmp_path / "thesis.tex" / "r"):
        with pytest.raises(StorageError), ResultsFolder(name).writing("a test"):
            raise AssertionError("held")
    with pytest.raises(StorageError, match="absent is not"), ResultsFolder(tmp_path / "absent").adding(""):
        raise AssertionError("held")
    assert files(tmp_path) == before


@for_each("refused", [OSError(errno.ENOSYS, "Not implemented"), OSError(errno.ENOLCK, "No locks")])
def test_a_disk_without_file_locks_is_named(tmp_path, monkeypatch, refused):
    """Where some versions of filelock fall back to a lock that a dead process keeps, or raise NotImplementedError."""

    def flock(*_):
        raise refused

    monkeypatch.setattr("fcntl.flock", flock)
    with pytest.raises(StorageError, match=r"/r: .* no file locks"), ResultsFolder(tmp_path / "r").writing(""):
        raise AssertionError("held")


@for_each(
    "owner,stays",
    [
        (f"{os.getpid()}-1@HERE", True),
        ("999999999-1@HERE", False),
        (f"{os.getpid()}-1@elsewhere", True),
        ("syncthing", True),
        ("9" * 30, True),
    ],
)
def test_temporary_files_of_the_living_stay(tmp_path, owner, stays):
    host = re.sub(r"[^A-Za-z0-9_-]", "_", platform.node())
    path = tmp_path / f".manifest.json.{owner.replace('HERE', host)}.tmp"
    path.touch()
    remove_leftovers(tmp_path)
    assert path.exists() is stays
