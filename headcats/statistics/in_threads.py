"""The same computation for several tasks, in threads: arrays are computed outside of Python's lock."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from headcats.base.errors import check_count

MOST_JOBS = 1024

Task = TypeVar("Task")
Result = TypeVar("Result")


def check_jobs(jobs: int) -> None:
    """An OptionError for anything but a number of threads."""
    check_count("jobs", jobs, most=MOST_JOBS, why_most="each is a thread")


def in_threads(compute: Callable[[Task], Result], tasks: Iterable[Task], *, jobs: int) -> list[Result]:
    """Compute each task, in their order, up to `jobs` at once."""
    if jobs == 1:
        return list(map(compute, tasks))
    with ThreadPoolExecutor(jobs) as threads:
        return list(threads.map(compute, tasks))
