"""Free memory of any kind of device, what a sweep may use of it, and work in parts, halved where it runs out."""

import contextlib
import gc
import logging
import re
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import TypeVar

import psutil
import torch

from headcats.base.errors import MemoryShortageError, OptionError
from headcats.base.guard import is_out_of_memory

_AMOUNT = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(?:([kmgt])(i?)b?|b(?:ytes)?)?\s*", re.IGNORECASE)
_MOST = 10**18  # bytes, more than there are: a number that any float can hold
_CGROUPS, _CGROUPS_OF_PROCESS = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")

# Processes that compute with the memory of this machine at once.
_sharing = ContextVar("sharing", default=1)
_log = logging.getLogger("headcats")
T = TypeVar("T")


def share_memory(processes: int) -> None:
    """Take a share of the machine's free memory from now on, and leave the rest to the other processes."""
    _sharing.set(processes)


def budget(memory: str | int | None, *devices: torch.device) -> int:
    """Bytes that a sweep may use: a number, a text such as "1.5GiB", or half of the least that is free (None)."""
    if memory is None:
        return min(map(free_memory, devices)) // 2
    size = 0
    if isinstance(memory, str) and (match := _AMOUNT.fullmatch(memory)):
        number, unit, binary = match.groups(default="")
        size = int(min(float(number), _MOST) * (1024 if binary else 1000) ** " kmgt".index(unit.lower() or " "))
    elif isinstance(memory, int) and not isinstance(memory, bool):
        size = memory
    if size <= 0:
        raise OptionError(
            f"memory must be a number of bytes or a text such as '4GB', '512 MB' or '1.5GiB'; got {memory!r}. Leave it "
            "out for half of what is free."
        )
    return min(size, _MOST)


def free_memory(device: torch.device) -> int:
    """Bytes that a computation on `device` can still take; on a CPU without swapping, within its container's limits."""
    if device.type == "cuda":
        free, _ = torch.cuda.mem_get_info(device)
        return free + torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    if device.type == "mps":
        return max(0, torch.mps.recommended_max_memory() - torch.mps.current_allocated_memory())
    return max(0, min([psutil.virtual_memory().available, *_container_limits()])) // _sharing.get()


def _container_limits() -> Iterator[int]:
    """Bytes that each enclosing control group of Linux (version 2) leaves."""
    with contextlib.suppress(OSError):
        lines = _CGROUPS_OF_PROCESS.read_text("utf-8").splitlines()
        # Inside a container the path may be that of the host: then only the root is there.
        inner = next((Path(line.removeprefix("0::/")) for line in lines if line.startswith("0::/")), Path())
        for folder in (_CGROUPS / inner, *(_CGROUPS / parent for parent in inner.parents)):
            with contextlib.suppress(OSError, ValueError, KeyError):
                # Cached files count as used, but make room when asked to.
                statistics = dict(row.split() for row in (folder / "memory.stat").read_text("utf-8").splitlines())
                limit, used = (int((folder / f"memory.{name}").read_text("utf-8")) for name in ("max", "current"))
                yield limit - used + int(statistics["inactive_file"])


def in_parts(
    work: Callable[[slice], T], size: int, at_a_time: int, *, devices: Sequence[torch.device]
) -> Iterator[tuple[slice, T]]:
    """Results of `work` on consecutive parts of `range(size)`; from where memory runs out on, on parts half as large.

    It may run out on any of the `devices`. A MemoryShortageError if it does with the smallest part too.
    """
    start, warned, place = 0, False, " or ".join(map(str, devices))
    while start < size:
        part = slice(start, min(start + at_a_time, size))
        results = []
        try:
            results.append(work(part))
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
        # Out of the `except` block, so that the traceback does not keep the tensors of the failed attempt alive.
        if results:
            start = part.stop
            yield part, results.pop()
            continue
        at_a_time = part.stop - part.start
        if at_a_time == 1:
            elsewhere = "another device" if len(devices) == 1 else "a device_map that leaves more room there"
            raise MemoryShortageError(
                f"Memory of {place} ran out with one row at a time. Use fewer or shorter prompts, a smaller model, "
                f"dtype bfloat16, or {elsewhere}; close what else uses the memory."
            )
        if not warned:
            _log.warning(
                "Memory of %s ran out with %d rows at a time: going on with fewer. A limit (--memory, memory=...) "
                "avoids the attempt.",
                place,
                at_a_time,
            )
        warned = True
        gc.collect()
        for kind in {device.type for device in devices} & {"cuda", "mps"}:
            getattr(torch, kind).empty_cache()
        at_a_time //= 2
