"""One run on one and on two workers of this machine, model load left out, and whether the numbers are the same.

    python benchmarks/cluster.py [--tasks 6] [--prompts 16] [--repeats 3]

A worker has one core and one thread, and is warm: it has loaded the model and scored a task before. What is timed is
all that follows, in the process that starts the run too: checking what the model can do, sending prompts, joining
blocks, descriptors of heads. Repetitions take turns; the least counts. Seconds on the clock need two free cores: a
matrix product in one process and in two at once says whether there are. Seconds of the processor do not: the run
takes what its own process takes and what the busiest worker takes, as the one mostly waits for the other.
"""

import argparse
import contextlib
import functools
import logging
import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import psutil
import ray
import torch
from planned import own_task, random_word_model
from random_weights import random_model
from sweep_speed.shapes import Shape

import headcats as hc
from headcats.models.adapter import HookedModel
from headcats.scale.ray_cluster import Cluster
from headcats.scale.spread import Spread
from headcats.study.output import Output
from headcats.study.plan import plan
from headcats.study.runner import open_study, score_study
from headcats.tasks.definition import Task

SHAPE = Shape(8, 8, 8, 512, 64, 2048, 1000, tied=True, length=32)
METHODS = ["denoising_patch@last", "zero_ablation@all"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Print seconds and ratio."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=6)
    parser.add_argument("--prompts", type=int, default=16)
    parser.add_argument("--repeats", type=int, default=3)
    chosen = parser.parse_args(arguments)
    torch.set_num_threads(1)
    logging.disable()
    os.environ["OMP_NUM_THREADS"] = "1"
    with tempfile.TemporaryDirectory() as folder:
        model = saved_model(Path(folder))
        tasks = [own_task(model, SHAPE, number, prompts=chosen.prompts) for number in range(chosen.tasks)]
        print(f"{SHAPE}, {chosen.tasks} tasks x {chosen.prompts} prompts, {', '.join(METHODS)}")
        cluster = Cluster("local")
        with cluster.connected():
            assert ray.cluster_resources()["CPU"] >= 2, "needs two cores"
            seconds: dict[int, list[Times]] = {1: [], 2: []}
            outputs: dict[int, Output] = {}
            for _ in range(chosen.repeats):
                for workers in seconds:
                    taken, outputs[workers] = timed(cluster, model, tasks, workers=workers, prompts=chosen.prompts)
                    seconds[workers].append(taken)
            same = outputs[1].results().equals(outputs[2].results())
        for workers, taken in seconds.items():
            for times in taken:
                shares = " + ".join(f"{each:.1f}" for each in times.of_workers)
                print(f"{workers}: {times.clock:.1f} s; of the processor {times.here:.1f} here, {shares} in workers")
        clock, processor = (
            min(getattr(each, kind) for each in seconds[1]) / min(getattr(each, kind) for each in seconds[2])
            for kind in ("clock", "processor")
        )
        numbers = "the same" if same else "other"
        print(f"ratio {clock:.2f} on the clock, {processor:.2f} by the processor; {numbers} numbers")
        alone, both = cores(1), cores(2)
        print(f"two processes with a matrix product each take {both / alone:.2f} of the time of one")


def saved_model(folder: Path) -> HookedModel:
    """The random model of the shape, in a folder that workers can load."""
    random_model(SHAPE).save_pretrained(folder)
    tokenizer = random_word_model(SHAPE).tokenizer
    assert tokenizer is not None
    tokenizer.save_pretrained(folder)
    return hc.load_model(folder, device="cpu")


def timed(
    cluster: Cluster, model: HookedModel, tasks: Sequence[Task], *, workers: int, prompts: int
) -> tuple["Times", Output]:
    """Seconds of a run on warm workers, and what it gave."""

    def score(of: Sequence[Task]) -> Output:
        study = plan(suite=list(of), methods=METHODS, n_prompts=prompts, min_accuracy=0)
        study, output = open_study(study, model, None)
        score_study(model, study, output, progress=False, path="auto", memory="2GB", scorer_of=spread)
        return output

    with cluster.workers(model) as pool:
        pool.size, spread = workers, functools.partial(Spread, pool)
        score(tasks[: 2 * workers])
        if pool._starting:
            ray.wait(list(pool._starting), num_returns=len(pool._starting))
        before, started, here = worker_seconds(), time.perf_counter(), time.process_time()
        output = score(tasks)
        taken, here = time.perf_counter() - started, time.process_time() - here
        after = worker_seconds()
        return Times(taken, here, [after[worker] - before[worker] for worker in before]), output


class Times(NamedTuple):
    """Seconds of a run on the clock, and of the processor in this process and in each worker."""

    clock: float
    here: float
    of_workers: list[float]

    @property
    def processor(self) -> float:
        """What the run would take with a core for each process."""
        return self.here + max(self.of_workers)


def worker_seconds() -> dict[int, float]:
    """Process of a worker -> its seconds of the processor."""
    workers = [
        each for each in psutil.process_iter(["cmdline"]) if "ray::Worker" in "".join(each.info["cmdline"] or ())
    ]
    return {each.pid: sum(each.cpu_times()[:2]) for each in workers}


def cores(n: int) -> float:
    """Seconds of a matrix product in so many processes at once."""
    with multiprocessing.get_context("spawn").Pool(n) as processes:
        processes.map(_product, range(n))
        started = time.perf_counter()
        processes.map(_product, range(n), chunksize=1)
        return time.perf_counter() - started


def _product(seed: int) -> None:
    torch.set_num_threads(1)
    matrix = torch.rand(1500, 1500)
    for _ in range(40):
        matrix @ matrix


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError):
        sys.exit(main())
