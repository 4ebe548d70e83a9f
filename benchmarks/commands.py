"""What commands cost beside the imports that they need: seconds of computing on one thread, as ratios.

`python benchmarks/commands.py DIR`, a folder that `headcats run` has finished, which is copied; without one, a default
run of the bundled model makes it first. Every measured thing is a process of its own; a round runs all of them once
each, and the smallest of the rounds counts.
"""

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

THREADS = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
LIBRARIES = "pandas, xarray, h5netcdf, plotly, scipy"
NEEDED = f"{LIBRARIES}, plotly.graph_objects, scipy.stats"
"""The same with the parts of two of them that load when they are first used: what figures and tests need."""


def seconds(*command: str) -> float:
    """Seconds of computing of a process and its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, env=os.environ | THREADS, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, help="results; default: those of a default run")
    parser.add_argument("--rounds", type=int, default=5)
    chosen = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as scratch:
        results = Path(scratch) / "results"
        headcats = [sys.executable, "-m", "headcats"]
        if chosen.folder:
            shutil.copytree(chosen.folder, results)
        else:
            subprocess.run([*headcats, "run", "--out", str(results), "--quiet"], check=True, stdout=subprocess.DEVNULL)
        page = str(Path(scratch) / "figure.html")
        anew = f"import shutil; shutil.rmtree({str(results / '.kept')!r}, ignore_errors=True)"
        measured = {
            f"import {LIBRARIES}": [sys.executable, "-c", f"import {LIBRARIES}"],
            f"import {NEEDED}": [sys.executable, "-c", f"import {NEEDED}"],
            "headcats --version": [*headcats, "--version"],
            "headcats map, the first time": [*headcats, "map", str(results)],
            "headcats report, the first time": [*headcats, "report", str(results)],
            "headcats map": [*headcats, "map", str(results)],
            "headcats figure overlap_map": [*headcats, "figure", "overlap_map", str(results), "--out", page],
            "headcats figure head_grid": [*headcats, "figure", "head_grid", str(results), "--out", page],
            "headcats report": [*headcats, "report", str(results)],
        }
        least = dict.fromkeys(measured, float("inf"))
        for _ in range(chosen.rounds):
            for name, command in measured.items():
                if name.endswith("the first time"):
                    subprocess.run([sys.executable, "-c", anew], check=True)
                least[name] = min(least[name], seconds(*command))
    bare, needed = (least[f"import {names}"] for names in (LIBRARIES, NEEDED))
    print("| | seconds | over the bare import | over what is needed |\n|:--|--:|--:|--:|")
    for name, taken in least.items():
        print(f"| {name} | {taken:.2f} | {taken / bare:.1f} | {taken / needed:.1f} |")


if __name__ == "__main__":
    main()
