"""What the time of a run goes into: seconds by purpose, each second counted once.

Where one purpose is served within another, as metrics within a sweep, the time is that of the inner one.
"""

import contextlib
import functools
import threading
import time
from collections.abc import Callable, Iterator
from typing import Literal, ParamSpec, TypeVar

Purpose = Literal["model", "metrics", "sweeps", "prompts", "saving", "statistics", "pages", "loading"]
P = ParamSpec("P")
R = TypeVar("R")

spent: dict[Purpose, float] = {}
"""Purpose -> seconds so far, of the main thread of this process; a command that tells them clears it first."""
_open: list[tuple[Purpose, float]] = []


@contextlib.contextmanager
def spending(on: Purpose) -> Iterator[None]:
    """Count the time within as that of a purpose; on other threads than the main one nothing is counted."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _pause()
    _open.append((on, time.perf_counter()))
    try:
        yield
    finally:
        _pause()
        _open.pop()
        if _open:
            _open[-1] = (_open[-1][0], time.perf_counter())


def spent_on(purpose: Purpose) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Count the time of every call of a function as that of a purpose."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def timed(*args: P.args, **kwargs: P.kwargs) -> R:
            with spending(purpose):
                return function(*args, **kwargs)

        return timed

    return decorate


def _pause() -> None:
    """Give what has passed to the purpose that is being served."""
    if _open:
        purpose, since = _open[-1]
        now = time.perf_counter()
        spent[purpose] = spent.get(purpose, 0.0) + now - since
        _open[-1] = (purpose, now)
