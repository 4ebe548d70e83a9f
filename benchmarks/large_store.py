"""A results folder of 80 x 64 heads, 30 tasks, 3 methods and 128 prompts, whole and compact.

    python benchmarks/large_store.py [--layers 80] [--heads 64] [--tasks 30] [--methods 3] [--prompts 128]

Printed are the size of the blocks, what the compact ones lose, the time to open the folder as commands do it beside
that of ten small files (blocks of 6 x 8 heads and 64 prompts), the time of reading every block, and time and peak
memory of scoring one method, each in a process of its own; last, how much longer a cell (head, task and prompt) takes
to score than in a store of 32 x 32 heads, 20 tasks and 64 prompts. Times are seconds of one thread of the processor,
the least of several. The blocks are random: normal effects, some heads with large ones, and a scatter that differs
between heads.
"""

import argparse
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

import headcats as hc
from headcats.results.compact import COMPACT, WHOLE, compacted, loss_of, losses_text
from headcats.results.folder import ResultsFolder
from headcats.results.loading import open_results
from headcats.results.manifest import Manifest
from headcats.results.place import find_place
from headcats.results.records import BlockRecord, CategoryRecord, ModelRecord, PlanRecord, TaskRecord
from headcats.scores.scoring import score

_METHODS = ("denoising_patch@last", "noising_patch@last", "zero_ablation@last", "mean_ablation@all")
_CATEGORIES = ("Algorithmic", "Knowledge", "Linguistic", "Translation")
_OF_MIDDLE = {"tasks": 20, "prompts": 64}
_MIDDLE = {"layers": 32, "heads": 32} | _OF_MIDDLE
_REPEATS = 5


def main(arguments: Sequence[str] | None = None) -> dict[str, Any]:
    """Print and return the numbers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, value in (("layers", 80), ("heads", 64), ("tasks", 30), ("methods", 3), ("prompts", 128)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--step", choices=("open", "read", "score"), help=argparse.SUPPRESS)  # of a fresh process
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    chosen = parser.parse_args(arguments)
    if chosen.step:
        print(json.dumps(_STEPS[chosen.step](chosen.folder)))
        return {}
    shape, cells = (chosen.layers, chosen.heads), chosen.layers * chosen.heads * chosen.tasks * chosen.prompts
    numbers: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as root:
        small = Path(root) / "ten"
        write(small, (6, 8), tasks=10, methods=1, prompts=64, store=WHOLE)
        numbers["ten"] = _fresh("open", small)
        numbers["ten read"] = _fresh("read", small)
        of_ten = [1e3 * numbers[name]["seconds"] for name in ("ten", "ten read")]
        print(f"ten small files: opened in {of_ten[0]:.1f} ms, opened and read in {of_ten[1]:.1f} ms")
        middle = Path(root) / "middle"
        write(middle, (_MIDDLE["layers"], _MIDDLE["heads"]), **_OF_MIDDLE, methods=1, store=WHOLE)
        numbers["middle"] = _fresh("score", middle)
        per_cell = numbers["middle"]["seconds"] / math.prod(_MIDDLE.values())
        for store in (WHOLE, COMPACT):
            folder = Path(root) / store
            losses = write(
                folder, shape, tasks=chosen.tasks, methods=chosen.methods, prompts=chosen.prompts, store=store
            )
            size = sum(file.stat().st_size for file in (folder / "blocks").rglob("*.nc"))
            steps = {step: _fresh(step, folder) for step in _STEPS}
            numbers[store] = {"size": size, **steps}
            opened = steps["open"]["seconds"]
            print(f"{store}: {size / 1e6:.0f} MB in {chosen.tasks * chosen.methods} files")
            print(f"  opened in {1e3 * opened:.1f} ms, {opened / numbers['ten']['seconds']:.1f} times ten small files")
            print(f"  all blocks read in {steps['read']['seconds']:.2f} s, peak {steps['read']['peak'] / 1e6:.0f} MB")
            scored, of_one = steps["score"], steps["read"]["seconds"] / chosen.methods
            print(
                f"  one method scored in {scored['seconds']:.2f} s, {scored['seconds'] / of_one:.1f} times reading its "
                f"blocks, peak {scored['peak'] / 1e6:.0f} MB; a cell takes {scored['seconds'] / cells / per_cell:.2f} "
                "times as long as in the smaller store"
            )
            if losses:
                numbers[store]["losses"] = losses
                print(f"  {losses_text(losses)} Mean {np.mean([loss.mean for loss in losses]):.1g}.")
    return numbers


def write(folder: Path, shape: tuple[int, int], *, tasks: int, methods: int, prompts: int, store: str) -> list[Any]:
    """A results folder; the losses of its compact blocks."""
    target, draws, losses = ResultsFolder(folder), np.random.default_rng(0), []
    names, labels = [f"task{number}" for number in range(tasks)], _METHODS[:methods]
    blocks: dict[str, dict[str, BlockRecord]] = {name: {} for name in names}
    for name in names:
        for label in labels:
            block = random_block(draws, shape, prompts, label=label)
            block = compacted(block) if store == COMPACT else block
            losses += [loss for loss in [loss_of(block)] if loss is not None]
            blocks[name][label] = BlockRecord("f", checksum=target.write_block(name, label, block))
    target.write_manifest(
        Manifest(
            plan=PlanRecord(n_prompts=prompts, seed=0, metrics=("logit_diff",)),
            model=ModelRecord("random", weights_hash="h"),
            categories=tuple(CategoryRecord(name, "#ff7f0e") for name in _CATEGORIES),
            methods=labels,
            tasks={name: TaskRecord(_CATEGORIES[place % 4]) for place, name in enumerate(names)},
            blocks=blocks,
            checks={name: {"hooks": {}} for name in names},
        )
    )
    return losses


def random_block(draws: np.random.Generator, shape: tuple[int, int], prompts: int, *, label: str) -> xr.Dataset:
    """Logit differences of every prompt; the gap is 10, and twenty heads have three tenths of it."""
    method, positions = label.split("@")
    base = "corrupted" if method == "denoising_patch" else "clean"
    effect = np.zeros(shape)
    effect.flat[draws.choice(effect.size, min(20, effect.size), replace=False)] = 3.0
    clean, corrupted = draws.normal(5, 1, prompts), draws.normal(-5, 1, prompts)
    scatter = draws.lognormal(-1, 1, shape)
    patched = (corrupted if base == "corrupted" else clean)[:, None, None] + effect
    patched = patched + scatter * draws.standard_normal((prompts, *shape), dtype=np.float32)
    items = [f"item {number // 2}" for number in range(prompts)]
    block = hc.as_block(patched, clean=clean, corrupted=corrupted, base=base, items=items).astype(np.float32)
    about = {"method": method, "positions": positions, "fingerprint": "f", "model": "random"}
    keys = [f"task/{number}" for number in range(prompts)]
    others = ["another_task"] * prompts
    return block.assign_coords(key=("prompt", keys), distractor_task=("prompt", others)).assign_attrs(about)


def _open(folder: str) -> dict[str, float]:
    place = find_place(folder)
    open_results(place)  # imports
    return {"seconds": _least(lambda: open_results(place))}


def _read(folder: str) -> dict[str, float]:
    def read() -> None:
        run = open_results(find_place(folder))
        for key in run.blocks:
            run.blocks[key]["patched"].values.sum()

    return {"seconds": _least(read, repeats=3), "peak": _peak()}


def _score(folder: str) -> dict[str, float]:
    run, method = open_results(find_place(folder)), _METHODS[0].split("@")[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {"seconds": _least(lambda: score(run, method=method), repeats=2), "peak": _peak()}


_STEPS: dict[str, Callable[[str], dict[str, float]]] = {"open": _open, "read": _read, "score": _score}


def _least(work: Callable[[], object], *, repeats: int = _REPEATS) -> float:
    seconds = []
    for _ in range(repeats):
        started = time.process_time()
        work()
        seconds.append(time.process_time() - started)
    return min(seconds)


def _peak() -> int:
    """Bytes of this process, everything that is imported included."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _fresh(step: str, folder: Path) -> dict[str, float]:
    command = [sys.executable, __file__, "--step", step, "--folder", str(folder)]
    done = subprocess.run(
        command, stdout=subprocess.PIPE, check=True, encoding="utf-8", env=os.environ | {"OMP_NUM_THREADS": "1"}
    )
    answer: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return answer


if __name__ == "__main__":
    main()
