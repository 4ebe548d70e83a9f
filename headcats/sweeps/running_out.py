"""What is done where memory runs out all the same: half as much work at a time."""

import gc
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import torch

from headcats.errors import ModelError

_OUT_OF_MEMORY = (
    "can't allocate memory", "not enough memory", "out of memory", "alloc_failed", "insufficient memory",
    "outofmemory", "invalid buffer size",
)  # fmt: skip

_log = logging.getLogger("headcats")
T = TypeVar("T")


def halving(work: Callable[[int], T], size: int, *, device: torch.device) -> T:
    """`work(size)`; where memory runs out, `work` of half the size, down to 1.

    One warning is logged.

    Args:
        work: Does as much work at a time as it is told.
        size: How much to try first.
        device: Whose memory is given back in between.

    Raises:
        ModelError: It runs out with the smallest piece of work too.
    """
    at_first = size
    while True:
        try:
            return work(size)
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
        # Out of the `except` block, so that the traceback does not keep the tensors of the failed attempt alive.
        if size == 1:
            raise ModelError(
                f"Memory of {device} ran out with one row at a time. Use fewer or shorter prompts, a smaller model, "
                "dtype bfloat16, or another device; close what else uses the memory."
            )
        if size == at_first:
            _log.warning(
                "Memory of %s ran out with %d rows at a time: going on with fewer. A limit (--memory, memory=...) "
                "avoids the attempt.",
                device,
                size,
            )
        _give_back(device)
        size = max(1, size // 2)


class OutOfMemory(Exception):
    """Memory ran out, on any kind of device; `__cause__` is the error of PyTorch."""


@contextmanager
def running_out() -> Iterator[None]:
    """Where memory runs out inside, an `OutOfMemory` comes out, whatever PyTorch calls it on this device."""
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        if is_out_of_memory(error):
            raise OutOfMemory(str(error)) from error
        raise


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error says that memory ran out, on any kind of device."""
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    # Allocators of CPUs and of Apple's processors, and cuBLAS, have no error class of their own.
    text = str(error).lower()
    return isinstance(error, RuntimeError) and any(words in text for words in _OUT_OF_MEMORY)


def _give_back(device: torch.device) -> None:
    gc.collect()
    if device.type == "cuda":
        torch.cuda.empty_cache()
    elif device.type == "mps":
        torch.mps.empty_cache()
