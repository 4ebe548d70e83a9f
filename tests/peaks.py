"""Peak memory of a piece of work, as the allocator of PyTorch sees it: the same number on every machine."""

import gc
from collections.abc import Callable

from torch.profiler import ProfilerActivity, profile


def peak_bytes(work: Callable[[], object]) -> int:
    """Largest number of bytes that tensors on the CPU take at a time while `work` runs, beside those that exist before.

    The largest of two runs: what is freed while it runs and was made before counts as negative.
    """
    return max(_once(work) for _ in range(2))


def _once(work: Callable[[], object]) -> int:
    gc.collect()
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True, acc_events=True) as profiled:
        work()
    events = profiled.profiler.kineto_results.events()
    changes = sorted((e.start_ns(), number, e.nbytes()) for number, e in enumerate(events) if e.name() == "[memory]")
    now = most = 0
    for _, _, size in changes:
        now += size
        most = max(most, now)
    return most
