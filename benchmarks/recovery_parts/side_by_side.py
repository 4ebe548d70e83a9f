"""Calls in several processes of one thread, in the order they were given."""

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import TypeVar

Found = TypeVar("Found")


def side_by_side(calls: Sequence[Callable[[], Found]], *, processes: int) -> Iterator[Found]:
    """Results of the calls; with several processes, these are partials of functions at the top of a module."""
    if processes == 1:
        yield from (call() for call in calls)
        return
    # Not forked: threads of the libraries do not survive a fork.
    with ProcessPoolExecutor(processes, mp_context=multiprocessing.get_context("spawn")) as pool:
        yield from pool.map(_call, calls)


def _call(call: Callable[[], Found]) -> Found:
    return call()
