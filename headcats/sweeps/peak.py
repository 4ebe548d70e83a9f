"""How much memory a computation takes: every tensor that it makes is counted while it exists, on any device."""

import weakref
from collections.abc import Callable
from typing import Any

from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


def peak_bytes(work: Callable[[], object]) -> int:
    """Largest number of bytes that tensors made by `work` take at a time.

    What exists before does not count, nor what a single operation of PyTorch needs inside.
    """
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
