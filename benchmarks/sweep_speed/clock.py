"""Seconds of the sides of a job, interleaved, and what the machine can do at best."""

import gc
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F

from headcats.sweeps import paths
from sweep_speed.shapes import Shape
from sweep_speed.sides import Found, Side
from sweep_speed.works import Job

CALIBRATION_ROWS = 2048
CALIBRATION_SECONDS = 0.5


@dataclass(frozen=True)
class Timing:
    """Repetitions of one side."""

    found: Found  # the numbers of the last one
    first: float  # seconds of the call before the repetitions; for ours on the whole work, with the self-check in it
    seconds: list[float]  # of each repetition, as measured

    @property
    def best(self) -> float:
        """Least seconds of a repetition, for the whole work where only a part was done."""
        return min(self.seconds) / self.found.done


def timings(
    job: Job, sides: dict[str, Side], *, repeat: int, patience: float, note: Callable[[str], None]
) -> dict[str, Timing]:
    """Time the sides in turn, `repeat` times, so that a slow minute of the machine hits all of them."""
    # One head and one prompt are enough to warm up the slow sides; ours does the whole work.
    short = job.of(job.heads[:1], alone=job.alone[:1])
    first, found = {}, {}
    # What is there already stays: going through it again before each measurement would take longer than tiny works do.
    gc.collect()
    gc.freeze()
    # Or an earlier work on the same model would have spared this one its self-check.
    paths.forget(job.model)
    for name, side in sides.items():
        note(f"{job.work.title}: warming up {side.title}")
        first[name] = clocked(short, side)[0] if side.warm_up else float("nan")
    seconds: dict[str, list[float]] = {name: [] for name in sides}
    for turn in range(repeat):
        for name, side in sides.items():
            if sum(seconds[name]) <= patience:
                note(f"{job.work.title}: {turn + 1} of {repeat}, {side.title}")
                took, found[name] = clocked(job, side)
                seconds[name].append(took)
    gc.unfreeze()
    return {name: Timing(found[name], first[name], seconds[name]) for name in sides}


def clocked(job: Job, side: Side) -> tuple[float, Found]:
    """Seconds that a side takes, and what it found."""
    gc.collect()
    start = _now(job.model.device)
    found = side.run(job)
    return _now(job.model.device) - start, found


@torch.no_grad()
def gemm_rate(shape: Shape, *, device: torch.device, dtype: torch.dtype) -> float:
    """Operations per second of `F.linear` at the shape of the model's own MLP, up and down, best of half a second."""
    rows = torch.randn(CALIBRATION_ROWS, shape.d_model, device=device, dtype=dtype)
    up = torch.randn(shape.d_mlp, shape.d_model, device=device, dtype=dtype)
    down = torch.randn(shape.d_model, shape.d_mlp, device=device, dtype=dtype)
    # A GPU gets enough work at once that launching it does not count.
    times = 1 if device.type == "cpu" else 50
    best, end = float("inf"), time.perf_counter() + CALIBRATION_SECONDS
    while best == float("inf") or time.perf_counter() < end:
        start = _now(device)
        for _ in range(times):
            F.linear(F.linear(rows, up), down)
        best = min(best, (_now(device) - start) / times)
    return 2 * 2 * CALIBRATION_ROWS * shape.d_model * shape.d_mlp / best


def _now(device: torch.device) -> float:
    """Seconds, once the device has done what it was given: of one thread those of the processor, else of the clock."""
    _wait(device)
    return time.process_time() if device.type == "cpu" and torch.get_num_threads() == 1 else time.perf_counter()


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    elif device.type == "mps":
        torch.mps.synchronize()
