"""Progress of a run: a bar in terminals and notebooks, and lines on finished parts and the time left."""

import contextlib
import importlib.util
import logging
import sys
import time
from collections.abc import Callable, Iterator, Mapping

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from headcats.base.errors import about, format_duration, pluralize
from headcats.base.logged import logged_by
from headcats.results.visible import visible

Advance = Callable[..., None]

# Of work that is measured before it is extrapolated, and between two lines on finished parts, in seconds.
_MEASURED, _BETWEEN = 2.0, 10.0


@contextlib.contextmanager
def progress_bar(total: int, *, show: bool | None = None, unit: str = "heads,") -> Iterator[Advance]:
    """Yields `advance(steps, label=None)`; drawn on stderr, with `show=None` in a terminal or notebook only."""
    console = Console(stderr=True)
    # In a notebook without ipywidgets, rich draws nothing and warns at every bar.
    notebook = console.is_jupyter and importlib.util.find_spec("ipywidgets") is not None
    if not (notebook or sys.stderr.isatty() if show is None else show):
        yield lambda steps, label=None: None
        return
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(unit),
        TimeElapsedColumn(),
        TextColumn("passed,"),
        TimeRemainingColumn(),
        TextColumn("left"),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        work = bar.add_task("headcats", total=total)

        def advance(steps: int, label: str | None = None) -> None:
            bar.update(work, advance=steps, description=visible(label) if label else bar.tasks[0].description)

        yield advance


@contextlib.contextmanager
def logged_where_nobody_watches(show: bool | None) -> Iterator[None]:
    """Log to stderr where no bar can be drawn and no logging is set up, unless `show` is False."""
    logger = logging.getLogger("headcats")
    if show is not None or sys.stderr.isatty() or Console(stderr=True).is_jupyter or logger.hasHandlers():
        yield
        return
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(message)s"))
    with logged_by(handler):
        yield


class PartsClock:
    """Tells which parts of `name` (a method; "" for tasks) are finished and how long the others will take.

    `work` of the missing ones is in any unit, and in their order; if all are 0, the first does the work of all, or if
    it is skipped, the next. `total` counts those that were finished before, too.
    """

    def __init__(
        self,
        name: str,
        work: Mapping[str, float],
        *,
        total: int,
        tell: Callable[[str], None] | None,
        noun: tuple[str, str] = ("part", "parts"),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._name, self._total, self._noun, self._clock = name, total, noun, clock
        self._tell = tell or (lambda line: None)
        self._left = dict(work)
        self._give_work_to_first()
        # Seconds and work of finished parts, without what is done once: the first part that is not skipped pays for it.
        self._seconds, self._work, self._paid = 0.0, 0.0, False
        self._begun, self._first_step = clock(), (0.0, 0.0)
        self._estimated, self._last_line = False, float("-inf")
        if name and self._left:
            before = total - len(self._left)
            more = f", {before} of {total} are there already" if before else ""
            self._tell(f"{name}: {pluralize(len(self._left), *noun)} to do{more}.")

    def begin(self) -> None:
        """A part begins."""
        self._begun, self._first_step = self._clock(), (0.0, 0.0)

    def reached(self, part: str, share: float) -> None:
        """A share (0 to 1) of the part is done. The time of all parts is told once, from the steps after the first."""
        now, (since, before) = self._clock(), self._first_step
        if not before:
            self._first_step = now, share
        work = self._left[part]
        rest = sum(self._left.values()) - work
        # A part without work says nothing of how long the work of others takes.
        too_early = not before or share <= before or now - since < _MEASURED or (rest and not work)
        if self._estimated or too_early:
            return
        self._estimated = True
        full = (now - since) / (share - before)
        seconds = since - self._begun + full * (1 - before) + (full / work * rest if rest else 0)
        scope = f"{self._noun[1]} of {self._name}" if self._name else self._noun[1]
        self._tell(f"{self._title(part)}: {about(seconds)} for the {scope}, measured on the first steps.")

    def finished(self, part: str, *, skipped: bool = False, seconds: float | None = None) -> None:
        """A part is done, or skipped. One line stands for several parts that follow each other fast.

        `seconds` are those of a part that was done beside others; None takes the time since `begin`.
        """
        now, work = self._clock(), self._left.pop(part)
        if skipped:
            self._give_work_to_first()
        else:
            since, before = (self._begun, 0.0) if self._paid else self._first_step
            if self._paid or before:
                self._seconds += now - since
                self._work += (1 - before) * work
            self._paid = True
        if self._left and now - self._last_line < _BETWEEN:
            return
        self._last_line = now
        left, duration = sum(self._left.values()), format_duration(now - self._begun if seconds is None else seconds)
        remaining = f", {about(self._seconds / self._work * left)} left" if left and self._work else ""
        done = f"{self._total - len(self._left)} of {pluralize(self._total, *self._noun)} done"
        self._tell(f"{self._title(part)}: {'skipped after ' * skipped}{duration}; {done}{remaining}.")

    def _title(self, part: str) -> str:
        return f"{self._name} {part}".strip()

    def _give_work_to_first(self) -> None:
        if self._left and not any(self._left.values()):
            self._left[next(iter(self._left))] = 1.0
