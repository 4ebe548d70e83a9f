"""How much memory there is, on any kind of device, how much of it a sweep may use, and how much a computation takes."""

import contextlib
import re
import weakref
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import psutil
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from headcats.base.errors import OptionError

_AMOUNT = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(?:([kmgt])(i?)b?|b(?:ytes)?)?\s*", re.IGNORECASE)
_MOST = 10**18  # bytes, more than there are: a number that any float can hold
_CGROUPS, _CGROUPS_OF_PROCESS = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
_CGROUP_FILES = {
    1: ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    2: ("memory.max", "memory.current", "inactive_file"),
}

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
    """Bytes that each enclosing control group of Linux leaves, in version 2 and in version 1."""
    with contextlib.suppress(OSError):
        for line in _CGROUPS_OF_PROCESS.read_text("utf-8").splitlines():
            _, controllers, path = line.split(":", 2)
            if controllers and "memory" not in controllers.split(","):
                continue
            root = _CGROUPS / "memory" if controllers else _CGROUPS
            limit, used, cached = _CGROUP_FILES[1 if controllers else 2]
            # Inside a container the path may be that of the host: then only the root is there.
            inner = Path(path.lstrip("/"))
            for folder in (root / inner, *(root / parent for parent in inner.parents)):
                with contextlib.suppress(OSError, ValueError, KeyError):
                    # Cached files count as used, but make room when asked to.
                    statistics = dict(row.split() for row in (folder / "memory.stat").read_text("utf-8").splitlines())
                    room = int((folder / limit).read_text("utf-8")) - int((folder / used).read_text("utf-8"))
                    yield room + int(statistics[cached])


def peak_bytes(work: Callable[[], object]) -> int:
    """Largest number of bytes that tensors made by `work` take at a time."""
    with _Counting() as counting:
        work()
    return counting.peak


class _Counting(TorchDispatchMode):
    """Sees the result of every operation, and when its storage is freed."""

    def __init__(self) -> None:
        super().__init__()
        self.peak = self._now = 0
        self._storages: dict[int, weakref.ref[Any]] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run the operation; its result may be a view of what it was given."""
        result = func(*args, **(kwargs or {}))
        given = {id(storage) for storage in _storages((args, kwargs))}
        for storage in _storages(result):
            if id(storage) not in given and id(storage) not in self._storages:
                self._add(storage)
        return result

    def _add(self, storage: Any) -> None:
        key, size = id(storage), storage.nbytes()

        def freed(_: Any) -> None:
            self._now -= size
            del self._storages[key]

        self._storages[key] = weakref.ref(storage, freed)
        self._now += size
        self.peak = max(self.peak, self._now)


def _storages(values: Any) -> list[Any]:
    return [value.untyped_storage() for value in tree_leaves(values) if isinstance(value, Tensor)]
