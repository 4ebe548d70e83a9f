"""Calls in several processes of one thread; what they give does not depend on the number of processes."""

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from typing import Any, TypeVar

import numpy as np

from headcats.statistics.random_streams import stream

Found = TypeVar("Found")


def repeat(
    measure: Callable[[np.random.Generator], Found],
    *,
    repetitions: int,
    processes: int,
    seed: int,
    name: str,
    note: Callable[[str], None],
) -> list[Found]:
    """`measure` on as many independent random streams, named after `name` and the repetition.

    With several processes, it is a function at the top of a module, or a partial of one.
    """
    once = partial(_once, measure, seed, name)
    found: list[Any] = []
    if processes == 1:
        for place in range(repetitions):
            found.append(once(place))
            note(f"{name}: {place + 1} of {repetitions}")
        return found
    for one in _pool(processes).map(once, range(repetitions), chunksize=4):
        found.append(one)
        note(f"{name}: {len(found)} of {repetitions}")
    return found


def side_by_side(calls: Sequence[Callable[[], Found]], *, processes: int) -> Iterator[Found]:
    """Results of the calls; with several processes, these are partials of functions at the top of a module."""
    yield from (call() for call in calls) if processes == 1 else _pool(processes).map(_call, calls)


@cache
def _pool(processes: int) -> ProcessPoolExecutor:
    # Kept until this process ends, since starting takes seconds. Not forked: threads do not survive a fork.
    return ProcessPoolExecutor(processes, mp_context=multiprocessing.get_context("spawn"))


def _once(measure: Callable[[np.random.Generator], Found], seed: int, name: str, place: int) -> Found:
    return measure(stream(seed, name, str(place)))


def _call(call: Callable[[], Found]) -> Found:
    return call()
