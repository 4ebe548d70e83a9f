"""How long the parts of a run take: told as soon as it can be measured, and again when a part is finished."""

import time
from collections.abc import Callable, Mapping

from headcats.errors import format_duration, pluralize

# Of work that is measured before it is extrapolated, and between two lines on finished parts, in seconds.
_MEASURED, _BETWEEN = 2.0, 10.0


class PartsClock:
    """Lines on what is done and what is left, for people who see no progress bar too.

    Args:
        what: What has parts, such as a method; "" where the parts speak for themselves.
        work: Parts that are still to be done, in their order -> how much work each is, in any unit. Where none has any,
            the first does it for all; if it is refused, the next.
        of: Number of all parts, those that are there already included.
        tell: Takes one line of text; None where nobody wants to know.
        noun: What a part is called, as one and as several.
        clock: Seconds that only grow.
    """

    def __init__(
        self,
        what: str,
        work: Mapping[str, float],
        *,
        of: int,
        tell: Callable[[str], None] | None,
        noun: tuple[str, str] = ("part", "parts"),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._what, self._of, self._noun, self._clock = what, of, noun, clock
        self._tell = tell or (lambda line: None)
        self._left = dict(work)
        self._one_does_all()
        self._paid, self._done_work, self._spent = False, 0.0, 0.0
        self._begun = clock()
        self._first: tuple[float, float] | None = None
        self._expected, self._last_line = False, float("-inf")
        if what and self._left:
            there = of - len(self._left)
            more = f", {there} of {of} are there already" if there else ""
            self._tell(f"{what}: {pluralize(len(self._left), *self._noun)} to do{more}.")

    def begin(self) -> None:
        """A part begins: what is told of it counts from now."""
        self._begun, self._first = self._clock(), None

    def reached(self, part: str, share: float) -> None:
        """Called while a part is under way, with the share of it that is done (0 to 1).

        The time of everything is told once, from the steps after the first: that one also pays for what is done once.
        """
        now = self._clock()
        if self._expected or share <= 0:
            return
        if self._first is None:
            self._first = now, share
            return
        then, before = self._first
        work = self._left[part]
        others = sum(self._left.values()) - work
        # A part without work of its own says nothing of how long the work of others takes.
        if now - then < _MEASURED or share <= before or (others and not work):
            return
        self._expected = True
        whole = (now - then) / (share - before)
        seconds = (then - self._begun) + whole * (1 - before)
        if others:
            seconds += whole / work * others
        named, of = f"{self._what} {part}".strip(), f" of {self._what}" if self._what else ""
        self._tell(
            f"{named}: about {format_duration(seconds)} for the {self._noun[1]}{of}, measured on the first steps."
        )

    def finished(self, part: str, *, refused: bool = False) -> None:
        """A part is done, or refused. Where parts follow each other fast, one line stands for several of them."""
        now = self._clock()
        took, work = now - self._begun, self._left.pop(part)
        if not refused and (self._paid or self._first):
            # The first part also pays for what is done once: only the steps after its first one count.
            then, before = (self._begun, 0.0) if self._paid or self._first is None else self._first
            self._spent += now - then
            self._done_work += (1 - before) * work
        self._paid = self._paid or not refused
        if refused:
            self._one_does_all()
        if self._left and now - self._last_line < _BETWEEN:
            return
        self._last_line = now
        left = sum(self._left.values())
        known = left and self._done_work
        rest = f", about {format_duration(self._spent / self._done_work * left)} left" if known else ""
        how = f"refused after {format_duration(took)}" if refused else format_duration(took)
        done = self._of - len(self._left)
        self._tell(f"{f'{self._what} {part}'.strip()}: {how}; {done} of {pluralize(self._of, *self._noun)} done{rest}.")

    def _one_does_all(self) -> None:
        if self._left and not any(self._left.values()):
            self._left[next(iter(self._left))] = 1.0
