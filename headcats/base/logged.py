"""Where headcats' own log goes."""

import contextlib
import logging
from collections.abc import Iterator


@contextlib.contextmanager
def logged_by(handler: logging.Handler) -> Iterator[None]:
    """Hand a handler what headcats logs from INFO on; leave the logger as it was."""
    logger = logging.getLogger("headcats")
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.setLevel(level)
        logger.removeHandler(handler)
