"""Work in parts, which are halved where memory runs out all the same."""

import gc
import logging
from collections.abc import Callable, Iterator
from typing import TypeVar

import torch

from headcats.errors import ModelError

_OUT_OF_MEMORY = (
    "can't allocate memory", "not enough memory", "out of memory", "alloc_failed", "insufficient memory",
    "outofmemory", "invalid buffer size",
)  # fmt: skip

_log = logging.getLogger("headcats")
T = TypeVar("T")


def in_parts(
    work: Callable[[slice], T], size: int, at_a_time: int, *, device: torch.device
) -> Iterator[tuple[slice, T]]:
    """Results of `work` on consecutive parts of `range(size)`; from where memory runs out on, on parts half as large.

    One warning is logged. Raises a ModelError if memory runs out with the smallest part too.
    """
    start, warned = 0, False
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
            raise ModelError(
                f"Memory of {device} ran out with one row at a time. Use fewer or shorter prompts, a smaller model, "
                "dtype bfloat16, or another device; close what else uses the memory."
            )
        if not warned:
            _log.warning(
                "Memory of %s ran out with %d rows at a time: going on with fewer. A limit (--memory, memory=...) "
                "avoids the attempt.",
                device,
                at_a_time,
            )
        warned = True
        gc.collect()
        if device.type in ("cuda", "mps"):
            getattr(torch, device.type).empty_cache()
        at_a_time //= 2


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error says that memory ran out, on any kind of device."""
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    # Allocators of CPUs and of Apple's processors, and cuBLAS, have no error class of their own.
    text = str(error).lower()
    return isinstance(error, RuntimeError) and any(words in text for words in _OUT_OF_MEMORY)
