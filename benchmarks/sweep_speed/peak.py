"""Peak memory of a side beside the model, the tokens and the clean run.

On a CPU: growth of the resident set, in a fork of a process that holds all of those, so that no side profits from pages
that another one left behind. The kernel keeps the peak itself (`VmHWM`, reset through `/proc/self/clear_refs`), so
nothing is missed between samples. The process runs with an allocator that gives every larger block back at once, or the
peak would be what the allocator hoards, and with one thread, or it could not be forked. On a GPU: PyTorch's own count.
"""

import ctypes
import gc
import json
import multiprocessing
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path

import torch

from sweep_speed.sides import Side
from sweep_speed.works import Job

ENVIRONMENT = {
    "MALLOC_MMAP_THRESHOLD_": "65536",
    "MALLOC_TRIM_THRESHOLD_": "65536",
    "MALLOC_TOP_PAD_": "0",
    "MALLOC_ARENA_MAX": "1",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
}
_UNSET = ("MALLOC_MMAP_MAX_",)
_PEAK, _STATUS = Path("/proc/self/clear_refs"), Path("/proc/self/status")


def can_measure() -> bool:
    """Whether this system can say how much memory a process has used, from a moment on."""
    try:
        _PEAK.write_text("5", encoding="ascii")
    except OSError:
        return False
    return True


def in_fresh_process(script: Path, arguments: Sequence[str]) -> dict[str, dict[str, int]]:
    """Run `script` with the allocator of this module and read what it prints: work -> side -> bytes."""
    environment = {name: value for name, value in os.environ.items() if name not in _UNSET} | ENVIRONMENT
    done = subprocess.run(
        [sys.executable, str(script), *arguments], env=environment, stdout=subprocess.PIPE, encoding="utf-8", check=True
    )
    peaks: dict[str, dict[str, int]] = json.loads(done.stdout.splitlines()[-1])
    return peaks


def peaks(job: Job, rehearsal: Job, sides: dict[str, Side]) -> dict[str, int]:
    """Side -> bytes beside the model, the tokens and the clean run.

    The slow sides replace two heads: each forward pass takes the same again. Batched hooks would take more where the
    plan lets them do more heads at a time.
    """
    short, rehearsal = (one.of(one.heads[:2], alone=one.alone[:1]) for one in (job, rehearsal))
    measured = _on_gpu if job.model.device.type == "cuda" else _in_fork
    # What is there already stays: every fork would go through it again, and copy its pages.
    gc.collect()
    gc.freeze()
    found = {name: measured(short, rehearsal, side) for name, side in sides.items()}
    gc.unfreeze()
    return found


def _on_gpu(job: Job, rehearsal: Job, side: Side) -> int:
    side.run(rehearsal)
    gc.collect()
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    side.run(job)
    torch.cuda.synchronize()
    return torch.cuda.max_memory_allocated() - before


def _in_fork(job: Job, rehearsal: Job, side: Side) -> int:
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe(duplex=False)
    child = context.Process(target=_measure, args=(job, rehearsal, side, there))
    child.start()
    there.close()
    try:
        grown: int = here.recv()
    except EOFError:
        raise RuntimeError(f"{side.title} failed while its memory was measured (see above).") from None
    finally:
        child.join()
    return grown


def _measure(job: Job, rehearsal: Job, side: Side, answer: Connection) -> None:
    # Here rather than before the fork: code counts as resident once this process has touched it.
    side.run(rehearsal)
    with torch.no_grad():
        # Matrix products keep buffers of the size of the last one, here of the clean run.
        job.model.model(job.batch.corrupted[:1, :1])
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    _PEAK.write_text("5", encoding="ascii")
    before = _status("VmRSS")
    side.run(job)
    answer.send(_status("VmHWM") - before)


def _status(name: str) -> int:
    found = re.search(rf"^{name}:\s+(\d+) kB$", _STATUS.read_text(encoding="ascii"), re.MULTILINE)
    assert found is not None
    return 1024 * int(found[1])
