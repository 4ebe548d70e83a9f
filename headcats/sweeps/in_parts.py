"""Work in parts, which are halved where memory runs out all the same."""

import gc
import logging
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import torch

from headcats.base.errors import MemoryShortageError
from headcats.base.guard import is_out_of_memory

_log = logging.getLogger("headcats")
T = TypeVar("T")


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
