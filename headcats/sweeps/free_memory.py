"""Free memory of any kind of device, and the part of it that a sweep may use."""

import contextlib
import re
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path

import psutil
import torch

from headcats.base.errors import OptionError

_AMOUNT = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(?:([kmgt])(i?)b?|b(?:ytes)?)?\s*", re.IGNORECASE)
_MOST = 10**18  # bytes, more than there are: a number that any float can hold
_CGROUPS, _CGROUPS_OF_PROCESS = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")

# Processes that compute with the memory of this machine at once.
_sharing = ContextVar("sharing", default=1)


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
