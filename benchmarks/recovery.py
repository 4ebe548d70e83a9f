"""Does headcats find what is there, and nothing else? Studies with a known truth through the whole pipeline.

Run `python benchmarks/recovery.py --help`; `benchmarks/RECOVERY.md` says what is measured and holds the tables.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

# Repetitions run side by side, so each process takes one thread; read when numpy is first imported.
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
DEFAULT_WORK = (
    *("claims", "null", "planted", "rules", "curve", "prompts", "toys", "circuits"),
    *("labels", "power", "replicates", "sharing"),
)
OF_RESULTS = ("partitions",)


def options(arguments: Sequence[str]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    add = parser.add_argument
    default = f"default: {' '.join(DEFAULT_WORK)}, and with --results {' '.join(OF_RESULTS)}"
    add("--work", nargs="+", metavar="NAME", help=default)
    add("--repetitions", type=int, help="studies per setting (default: 1000 for null, 50 to 400 elsewhere)")
    add("--processes", type=int, default=2, help="processes of one thread (default 2); numbers do not depend on it")
    add("--seed", type=int, default=0, help="seed of everything (default 0)")
    add("--quick", action="store_true", help="tiny studies, a few repetitions: shows that it runs, measures nothing")
    add("--results", type=Path, metavar="DIR", help="results of a run, for residuals (`claims`) and for `partitions`")
    add("--json", type=Path, metavar="FILE", help="all numbers, unrounded")
    add("--write", type=Path, metavar="FILE", help="replace the section of each work in a page")
    chosen = parser.parse_args(arguments)
    chosen.work = chosen.work or [*DEFAULT_WORK, *(OF_RESULTS if chosen.results else ())]
    return chosen


def main() -> None:
    """Measure and show."""
    chosen = options(sys.argv[1:])
    os.environ.update(dict.fromkeys(ONE_THREAD, "1"))
    from recovery_parts.session import run

    run(chosen)


if __name__ == "__main__":
    main()
