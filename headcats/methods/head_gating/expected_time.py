"""Log how long a fit will take, after its first updates."""

import logging
import time

from headcats.errors import format_duration
from headcats.methods.head_gating.fitting import Advance

# The first update also pays for what is done once.
_SKIPPED, _MEASURED = 1, 3

_log = logging.getLogger("headcats")


def logging_time(what: str, advance: Advance, *, fits: int) -> Advance:
    """`advance` that also logs, after the first updates, how long this fit and those to come will take.

    Args:
        what: What is fitted.
        advance: Called after every update.
        fits: How many fits of this size are to come, on all data sets, this one included.
    """
    started = 0.0

    def advance_and_log(done: int, of: int, stage: str) -> None:
        nonlocal started
        if done == _SKIPPED:
            started = time.monotonic()
        elif done == _SKIPPED + _MEASURED:
            seconds = (time.monotonic() - started) / _MEASURED * of
            rest = f", {format_duration(fits * seconds)} for the {fits} fits to come" if fits > 1 else ""
            _log.info("%s: about %s%s (%d updates, measured on the first).", what, format_duration(seconds), rest, of)
        advance(done, of, stage)

    return advance_and_log
