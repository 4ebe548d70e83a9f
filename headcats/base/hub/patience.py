"""Ask the hub again while it takes no requests."""

import logging
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TypeVar

from huggingface_hub.errors import HfHubHTTPError

from headcats.base.hub.problem import refusal

TRIES = 5
_LONGEST_WAIT = 330.0  # the hub counts requests in windows of five minutes
_REPEATS = ("thrown while requesting", "Waiting", "Retrying in", "Error while downloading")
_log = logging.getLogger("headcats")
T = TypeVar("T")


def patiently(ask: Callable[[], T], *, tries: int = TRIES) -> T:
    """Ask the hub, again after the wait that it names while it takes no requests or has a fault."""
    for attempt in range(1, tries):
        try:
            return ask()
        except HfHubHTTPError as error:
            if not refusal(error).passes:
                raise
            wait = _named_wait(error.response.headers) or 2.0**attempt
            if wait > _LONGEST_WAIT:
                raise
            _log.info("The hub answers %d; trying again in %.0f s.", error.response.status_code, wait)
            time.sleep(wait)
    return ask()


def _named_wait(headers: Mapping[str, str]) -> float:
    """Seconds after which the hub takes requests again, by either header that it sends; 0 where it does not say."""
    named = re.fullmatch(r"(\d+)", headers.get("Retry-After", "")) or re.search(
        r"\br\s*=\s*0\b.*\bt\s*=\s*(\d+)", headers.get("RateLimit", "")
    )
    return float(named[1]) + 1 if named else 0.0  # + 1 since it counts whole seconds


@contextmanager
def repeating_quietly() -> Iterator[None]:
    """One line in place of all that huggingface_hub says on stderr of requests that it repeats."""
    handlers, once = logging.getLogger("huggingface_hub").handlers, _RepeatsOnce()
    for handler in handlers:
        handler.addFilter(once)
    try:
        yield
    finally:
        for handler in handlers:
            handler.removeFilter(once)


class _RepeatsOnce(logging.Filter):
    def __init__(self) -> None:
        super().__init__()
        self._untold = threading.Semaphore(1)  # files come in several threads

    def filter(self, record: logging.LogRecord) -> bool:
        message = record.getMessage()
        repeats = any(part in message for part in _REPEATS)
        if repeats and self._untold.acquire(blocking=False):
            _log.info("The hub refuses requests or breaks off for now; trying again, for some minutes at most.")
        return not repeats
