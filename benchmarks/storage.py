"""What checksums and the lock of a results folder cost: their share of a run and of `headcats map`.

`python benchmarks/storage.py --n-prompts 16`; without the option, a default run of the bundled model. Times are seconds
of this process.
"""

import argparse
import contextlib
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import headcats as hc
from headcats.categories.map_spec import MapSpec
from headcats.categories.map_tables import map_tables
from headcats.reports.page import saved
from headcats.results import checksum, folder, manifest, series, tables, writer
from headcats.results.run_results import RunResults
from headcats.study.options import StudyOptions

spent: dict[str, float] = defaultdict(float)
calls: dict[str, int] = defaultdict(int)


def timed(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, its time added to that of others of that name."""

    def call(*args: Any, **kwargs: Any) -> Any:
        started = time.perf_counter()
        try:
            return function(*args, **kwargs)
        finally:
            spent[name] += time.perf_counter() - started
            calls[name] += 1

    return call


def watch() -> None:
    """Time every checksum, and taking and giving back the lock."""
    checksum.checksum = timed("checksums", checksum.checksum)
    for module in (folder, manifest, saved, series, tables):
        for name in ("with_checksum", "content_of", "json_with_checksum", "json_content_of"):
            if hasattr(module, name):
                setattr(module, name, timed("checksums, with copies", getattr(module, name)))
    held = writer.held_for_writing

    @contextlib.contextmanager
    def holding(*args: Any, **kwargs: Any) -> Iterator[None]:
        context = held(*args, **kwargs)
        timed("lock", context.__enter__)()
        try:
            yield
        finally:
            timed("lock", context.__exit__)(None, None, None)

    folder.held_for_writing = holding


def shares(total: float) -> None:
    """Print and forget what was spent."""
    for name in sorted(spent):
        print(f"  {name}: {spent[name]:.4f} s in {calls[name]} calls, {spent[name] / total:.2%}")
    spent.clear()
    calls.clear()


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n-prompts", type=int, default=StudyOptions.n_prompts)
    options = parser.parse_args()
    watch()
    with tempfile.TemporaryDirectory() as root:
        out = Path(root) / "r"
        started = time.perf_counter()
        hc.run("mini", out=out, n_prompts=options.n_prompts, progress=False)
        total = time.perf_counter() - started
        print(f"run, {options.n_prompts} prompts per task: {total:.1f} s")
        shares(total)
        started = time.perf_counter()
        run = RunResults(hc.load(out))
        read = time.perf_counter() - started
        map_tables(run, MapSpec.parse().resolve(run))
        total = time.perf_counter() - started
        print(f"map: {total:.2f} s, {read:.2f} s of it reading {len(list(out.rglob('*.nc')))} files")
        shares(total)


if __name__ == "__main__":
    main()
