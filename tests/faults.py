"""Faults on purpose: small studies are killed, starved and misled at every write and read, and must lose nothing.

`python tests/faults.py --n 1000` prints how often each kind was tried and what became of it.
"""

import argparse
import contextlib
import errno
import io
import itertools
import json
import logging
import os
import random
import signal
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parent))

from counting import SUITE, counting_folder

import headcats as hc
from headcats.base.errors import HeadcatsError
from headcats.results import whole_file
from headcats.results.file_format import content_of
from headcats.results.folder import ResultsFolder
from headcats.results.joined import checksums_in

OPTIONS = {
    "suite": SUITE,
    "tasks": ["always_a", "always_b"],
    "n_prompts": 4,
    "n_demos": 2,
    "methods": ["denoising_patch"],
}
TIMES = {"seconds", "created"}  # of the manifest: what two runs of one plan differ in


class Fault(NamedTuple):
    """A fault at the `at`-th operation of its kind: open, write, sync, rename, read or removal."""

    what: str
    operation: str
    at: int


def die() -> None:
    """As a power cut: nothing is cleaned up."""
    os.kill(os.getpid(), signal.SIGKILL)


class Injector:
    """Counts the operations on files in this process, and has one of them go wrong."""

    def __init__(self, fault: Fault | None) -> None:
        self.fault = fault
        self.counts: Counter[str] = Counter()
        whole_file.open = self._open  # type: ignore[attr-defined]
        os.fsync = self._wrapped("sync", os.fsync)
        os.replace = self._wrapped("rename", os.replace)
        Path.unlink = self._wrapped("removal", Path.unlink)  # type: ignore[method-assign]
        Path.read_bytes = self._wrapped("read", Path.read_bytes)  # type: ignore[method-assign]

    def _is_due(self, operation: str) -> bool:
        self.counts[operation] += 1
        if self.fault is None or self.fault.operation != operation:
            return False
        if self.fault.what == "full disk":  # and it stays full
            return self.counts[operation] >= self.fault.at
        return self.counts[operation] == self.fault.at

    def _strike(self) -> None:
        what = self.fault.what if self.fault else ""
        if what == "killed before":
            die()
        if what == "full disk":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        if what == "disk error":
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    def _wrapped(self, operation: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            due = self._is_due(operation)
            if due:
                self._strike()
            done = function(*args, **kwargs)
            if due and self.fault and self.fault.what == "killed after":
                die()
            return done

        return call

    def _open(self, path: Any, mode: str) -> Any:
        if self._is_due("open"):
            self._strike()
        file = io.open(path, mode)  # noqa: SIM115, UP020 - closed by `_File`
        write = self._wrapped("write", file.write)

        def torn(data: bytes) -> int:
            if self.fault and self.fault.what == "torn" and self.counts["write"] + 1 == self.fault.at:
                file.write(data[: len(data) // 2])
                file.flush()
                die()
            return int(write(data))

        return _File(file, torn)


class _File:
    """A file whose writes are watched."""

    def __init__(self, file: io.BufferedWriter, write: Callable[[bytes], int]) -> None:
        self._file, self.write = file, write

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def __enter__(self) -> "_File":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


def in_child(work: Callable[[], None]) -> int:
    """Run something in a forked process; its exit status, negative for a signal."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            work()
            status = 0
        except HeadcatsError:
            status = 2
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


# ------------------------------------------------------------------------------------------------------ the faults
WHAT = {
    "open": ("killed before", "full disk", "disk error"),
    "write": ("killed before", "torn", "full disk", "disk error"),
    "sync": ("killed before", "killed after", "full disk", "disk error"),
    "rename": ("killed before", "killed after", "full disk", "disk error"),
    "removal": ("killed before", "killed after"),
    "read": ("killed before", "disk error"),
}
AT_REST = ("bit flipped", "cut short", "overwritten", "doubled", "gone", "emptied")


def every_fault(counts: Counter[str]) -> Iterator[Fault]:
    """Everything that can go wrong in a run with so many operations."""
    for operation, kinds in WHAT.items():
        for what, at in itertools.product(kinds, range(1, counts[operation] + 1)):
            yield Fault(what, operation, at)


def damage(path: Path, what: str, place: int) -> None:
    """Change a file at rest."""
    data = path.read_bytes()
    at = place % max(len(data), 1)
    if what == "gone":
        path.unlink()
        return
    path.write_bytes(
        {
            "bit flipped": data[:at] + bytes([data[at] ^ (1 << place % 8)]) + data[at + 1 :] if data else b"x",
            "cut short": data[:at],
            "overwritten": data[:at] + b"\xaa" * 64 + data[at + 64 :],
            "doubled": data + data,
            "emptied": b"",
        }[what]
    )


# ------------------------------------------------------------------------------------------------------ the checks
def content(folder: Path) -> dict[str, Any]:
    """Every file but pages, with the manifest's times taken out."""
    files: dict[str, Any] = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            name = path.relative_to(folder).as_posix()
            files[name] = path.read_bytes()
            if name == "manifest.json":
                files[name] = _without_times(json.loads(files[name]))
    return files


def _without_times(value: Any) -> Any:
    if isinstance(value, dict):
        kept = {key: _without_times(entry) for key, entry in value.items() if key not in (*TIMES, "checksum")}
        return dict(sorted(kept.items()))
    return value


class Driver:
    """One model, one plan, and what an undisturbed run of it leaves."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.model = hc.load_model(counting_folder(root / "model"), device="cpu")
        self.plain = root / "plain"
        counts = root / "counts.json"

        def count() -> None:
            injector = Injector(None)
            self.run(root / "counted")
            counts.write_text(json.dumps(injector.counts), encoding="utf-8")

        self.run(self.plain)
        assert in_child(count) == 0
        self.counts = Counter(json.loads(counts.read_text(encoding="utf-8")))
        self.expected = content(self.plain)

    def run(self, folder: Path) -> None:
        """The study, started or continued."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            hc.run(self.model, out=folder, progress=False, **OPTIONS)

    def read(self, folder: Path) -> str:
        """What a reader sees: blocks as they must be, or an error of headcats; anything else is a failure."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                results = hc.load(folder)
            except HeadcatsError:
                return "named"
            whole = hc.load(self.plain)
        for node in results.subtree:
            if "patched" in node and not node.to_dataset().identical(whole[node.path].to_dataset()):
                return "other numbers"
        return "missing named" if "missing" in results.attrs else "read"

    def outcome(self, folder: Path, status: int | None) -> str:
        """After a fault: a reader first, then the same run again, which must end as the undisturbed one did."""
        if status == 1:
            return "foreign error"
        before, other = self._whole_blocks(folder), self._whole_tables(folder)
        if self.read(folder) == "other numbers":
            return "silently wrong"
        written = self.root / "written.json"
        written.write_text("[]", encoding="utf-8")
        if in_child(lambda: self.resume(folder, written)) != 0:
            return "not resumed"
        after = self._whole_tables(folder)
        again = before & {(task, label) for task, label in json.loads(written.read_text(encoding="utf-8"))}
        if again or any(after.get(name) != mark for name, mark in other.items()):
            return "finished block lost"
        found = content(folder)
        differing = {name for name in found | self.expected if found.get(name) != self.expected.get(name)}
        differing = {name for name in differing if not name.startswith("manifest.json.damaged")}
        return f"differs: {', '.join(sorted(differing))}" if differing else "nothing lost"

    def resume(self, folder: Path, written: Path) -> None:
        """The same run again, which notes the blocks that it makes."""
        made: list[tuple[str, str]] = []
        write = ResultsFolder.write_block

        def noted(results: ResultsFolder, task: str, label: str, block: Any) -> str:
            made.append((task, label))
            written.write_text(json.dumps(made), encoding="utf-8")
            return write(results, task, label, block)

        ResultsFolder.write_block = noted  # type: ignore[method-assign]
        self.run(folder)

    @staticmethod
    def _whole_blocks(folder: Path) -> set[tuple[str, str]]:
        """Task and method of the blocks in undamaged files."""
        found = set()
        for path in folder.glob("blocks/**/*.nc"):
            with contextlib.suppress(HeadcatsError):
                tasks = checksums_in(content_of(path.read_bytes()))
                found |= {(path.stem, path.parent.name)} if tasks is None else {(task, path.stem) for task in tasks}
        return found

    @staticmethod
    def _whole_tables(folder: Path) -> dict[str, tuple[int, int]]:
        """Undamaged tables beside the blocks, with what would tell that one was written again."""
        marks = {}
        for path in folder.glob("*.nc"):
            try:
                content_of(path.read_bytes())
                marks[str(path)] = (path.stat().st_ino, path.stat().st_mtime_ns)
            except HeadcatsError:
                pass
        return marks

    def strike(self, fault: Fault, folder: Path) -> str:
        """Run with a fault; what became of it."""
        if fault.operation == "at rest":
            self.run(folder)
            paths = sorted(path for path in folder.rglob("*") if path.suffix in (".nc", ".json"))
            damage(paths[fault.at % len(paths)], fault.what, fault.at)
            return self.outcome(folder, None)

        def run() -> None:
            Injector(fault)
            self.run(folder)

        return self.outcome(folder, in_child(run))


def faults(counts: Counter[str], n: int, *, seed: int = 0) -> list[Fault]:
    """So many faults: spread over all that can happen, those at rest at random places."""
    draw = random.Random(seed)
    in_time = list(every_fault(counts))
    draw.shuffle(in_time)
    at_rest = [Fault(draw.choice(AT_REST), "at rest", draw.randrange(1_000_000)) for _ in range(n // 4)]
    return [*itertools.islice(itertools.cycle(in_time), n - len(at_rest)), *at_rest]


def table(n: int, *, seed: int = 0) -> Counter[tuple[str, str]]:
    """(fault, outcome) -> how often."""
    with tempfile.TemporaryDirectory() as root:
        driver = Driver(Path(root))
        outcomes: Counter[tuple[str, str]] = Counter()
        for number, fault in enumerate(faults(driver.counts, n, seed=seed)):
            outcome = driver.strike(fault, Path(root) / str(number))
            if outcome != "nothing lost":
                print(fault, outcome, flush=True)
            outcomes[f"{fault.what} ({fault.operation})", outcome] += 1
    return outcomes


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    import torch

    torch.set_num_threads(1)
    logging.disable()
    outcomes = table(options.n, seed=options.seed)
    for (fault, outcome), count in sorted(outcomes.items()):
        print(f"{count:5d}  {fault}: {outcome}")
    lost = sum(count for (_, outcome), count in outcomes.items() if outcome != "nothing lost")
    print(f"{outcomes.total()} faults, {lost} with a loss")
    sys.exit(bool(lost))


if __name__ == "__main__":
    main()
