"""Make what can be made for several keys (seeds, relations, tasks), and keep why the others cannot."""

from collections.abc import Callable, Iterable
from typing import TypeVar

from headcats.errors import DataError

K = TypeVar("K")
T = TypeVar("T")


def attempt_each(make: Callable[[K], T], keys: Iterable[K]) -> tuple[dict[K, T], dict[K, DataError]]:
    """Key -> what is made for it, and key -> the DataError of those for which it cannot be made."""
    made: dict[K, T] = {}
    problems: dict[K, DataError] = {}
    for key in keys:
        try:
            made[key] = make(key)
        except DataError as problem:
            problems[key] = problem
    return made, problems
