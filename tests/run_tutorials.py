"""Run the tutorials from top to bottom with this interpreter, each in a folder of its own with the published results.

`python tests/run_tutorials.py [NOTEBOOK ...] [--of-today] [--jobs N] [--pictures]`: all by default, N at a time. Exit
status 1 if one fails. A Markdown cell directly after a cell that draws shows `pictures/NOTEBOOK-CELL.svg`, for those
who read a tutorial where it was stored without outputs; `--pictures` makes these anew.
"""

import argparse
import datetime
import itertools
import os
import re
import shutil
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from traitlets.config import Config

TUTORIALS = Path(__file__).parents[1] / "tutorials"
FIGURE, SVG = "application/vnd.plotly.v1+json", "image/svg+xml"
_REFERENCE = re.compile(r"!\[([^\]]*)\]\((pictures/[^)]+)\)")
_NO_WIDGETS = re.compile("IProgress not found|for Jupyter support")  # what tqdm and rich say without ipywidgets
_CELL_SECONDS = 600  # a cell that takes longer hangs


def notebooks() -> list[Path]:
    """The tutorials in their order."""
    return sorted(TUTORIALS.glob("*.ipynb"))


def of_today() -> Path:
    """Another tutorial every day; the same one in all time zones."""
    day = datetime.datetime.now(datetime.UTC).timetuple().tm_yday
    return notebooks()[day % len(notebooks())]


def execute(path: Path, folder: Path) -> nbformat.NotebookNode:
    """Run a notebook with `folder` as its working directory; returns it with its outputs.

    Raises:
        CellExecutionError: A cell failed; the message holds the cell and the traceback.
        CellTimeoutError, DeadKernelError: The kernel hangs, or is gone.
    """
    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory(prefix="hc-", ignore_cleanup_errors=True) as sockets:
        # Where the network is off, so is the loopback interface, over which a kernel is reached by default.
        reached = {} if os.name == "nt" else {"transport": "ipc", "ip": str(Path(sockets) / "kernel")}
        client = NotebookClient(
            notebook,
            timeout=_CELL_SECONDS,
            kernel_name="python3",
            resources={"metadata": {"path": str(folder)}},
            config=Config({"KernelManager": reached}),
        )
        return client.execute(env={**os.environ, "HF_HUB_OFFLINE": "1"})


def figures(notebook: nbformat.NotebookNode) -> list[dict]:
    """The mime bundles of the figures that an executed notebook shows."""
    shown = (output.get("data", {}) for cell in notebook.cells for output in cell.get("outputs", ()))
    return [bundle for bundle in shown if FIGURE in bundle]


def references(path: Path) -> dict[str, tuple[Path, str]]:
    """Id of the cell that draws -> the picture shown directly after it, and its alt text."""
    shown: dict[str, tuple[Path, str]] = {}
    for before, cell in itertools.pairwise(nbformat.read(path, as_version=4).cells):
        if cell.cell_type == "markdown":
            for alt, target in _REFERENCE.findall(cell.source):
                shown[before.id] = (path.parent / target, alt)
    return shown


def _pictures(notebook: nbformat.NotebookNode) -> dict[str, str]:
    """Id of a cell of an executed notebook -> the first picture among its outputs."""
    pictures: dict[str, str] = {}
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            if picture := output.get("data", {}).get(SVG):
                pictures.setdefault(cell.id, picture)
    return pictures


def _printed(notebook: nbformat.NotebookNode) -> list[str]:
    return [output.get("text", "") for cell in notebook.cells for output in cell.get("outputs", ())]


def _run(path: Path, *, pictures: bool) -> tuple[str, float, str]:
    """Name, seconds, and what went wrong ("" for nothing)."""
    started = time.perf_counter()
    problem = ""
    with tempfile.TemporaryDirectory(prefix=f"{path.stem}-", ignore_cleanup_errors=True) as folder:
        for published in TUTORIALS.glob("smollm2-*"):  # as they lie beside the notebooks
            shutil.copytree(published, Path(folder) / published.name)
        try:
            executed = execute(path, Path(folder))
            drawn = _pictures(executed)
            for cell, (picture, _) in references(path).items():
                if cell not in drawn:
                    problem = f"the cell {cell!r} drew no picture"
                elif pictures:
                    picture.write_text(drawn[cell] + "\n", encoding="utf-8", newline="\n")
            if not figures(executed):
                problem = "it shows no figure"
            if any(_NO_WIDGETS.search(text) for text in _printed(executed)):
                problem = "it warns that ipywidgets is missing"
        except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
            problem = str(error)
    return path.name, time.perf_counter() - started, problem


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("notebooks", nargs="*", type=Path, help="default: all tutorials")
    parser.add_argument("--of-today", action="store_true", help="one tutorial, drawn by the day of the year")
    parser.add_argument("--jobs", type=int, default=1, help="how many at a time (default: 1)")
    parser.add_argument("--pictures", action="store_true", help="write the pictures that the tutorials show")
    chosen = parser.parse_args(arguments)
    failed, paths = 0, chosen.notebooks or ([of_today()] if chosen.of_today else notebooks())
    with ThreadPoolExecutor(chosen.jobs) as pool:  # every notebook has a process of its own, its kernel
        for name, seconds, problem in pool.map(partial(_run, pictures=chosen.pictures), paths):
            failed += bool(problem)
            print(f"{seconds:6.1f} s  {name}  {'FAILED' if problem else 'passed'}", flush=True)
            if problem:
                print(f"{name}: {problem}", file=sys.stderr, flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
