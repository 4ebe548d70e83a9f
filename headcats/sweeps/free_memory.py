"""How many bytes are free where a model runs."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import psutil
import torch

_CGROUPS = Path("/sys/fs/cgroup")
_OWN_CGROUPS = Path("/proc/self/cgroup")


def free_memory(device: torch.device) -> int:
    """Bytes that a computation on `device` can still take, with those that torch holds but does not use.

    On a CPU: what the system can give without swapping, and no more than the limits of the container it runs in.
    """
    if device.type == "cuda":
        free, _ = torch.cuda.mem_get_info(device)
        return free + torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    if device.type == "mps":
        return max(0, torch.mps.recommended_max_memory() - torch.mps.current_allocated_memory())
    return max(0, min([psutil.virtual_memory().available, *_container_limits()]))


def _container_limits() -> Iterator[int]:
    """What each enclosing control group of Linux leaves; none where there are none, or they have no limit."""
    for folder, limit, used, cached in _groups():
        with contextlib.suppress(OSError, ValueError, KeyError):
            # Cached files count as used, but make room when asked to.
            statistics = dict(line.split() for line in (folder / "memory.stat").read_text("utf-8").splitlines())
            room = int((folder / limit).read_text("utf-8")) - int((folder / used).read_text("utf-8"))
            yield max(0, room + int(statistics[cached]))


def _groups() -> Iterator[tuple[Path, str, str, str]]:
    """Folders of this process's control groups up to the root, and the files with limit, use and cached files."""
    try:
        lines = _OWN_CGROUPS.read_text("utf-8").splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, own = line.split(":", 2)
        if controllers == "":
            root, names = _CGROUPS, ("memory.max", "memory.current", "inactive_file")
        elif "memory" in controllers.split(","):
            root = _CGROUPS / "memory"
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
        else:
            continue
        # Inside a container the path may be that of the host: then only the root is there.
        inner = Path(own.lstrip("/"))
        for folder in (inner, *inner.parents):
            yield (root / folder, *names)
