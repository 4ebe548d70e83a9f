"""Numbers that a caller gives: whole, and neither smaller nor larger than anything possible."""

import math
import numbers
from typing import Any

from headcats.base.errors import OptionError

MOST_STEPS = 10_000_000
"""Draws, updates and the like."""
TOO_LONG = "more would take days, and change no digit of a result"
_LONGEST = 60  # digits of a number that is shown in full


def check_count(name: str, value: Any, *, least: int = 1, most: float = MOST_STEPS, why_most: str = TOO_LONG) -> None:
    """Raises OptionError unless `value` is a whole number from `least` to `most`; `why_most` says why not more."""
    if not isinstance(value, numbers.Integral) or isinstance(value, bool) or int(value) < least:
        raise OptionError(f"{name} must be a whole number of at least {least}; got {shown(value)}.")
    if int(value) > most:
        raise OptionError(f"{name} must be a whole number of at most {most:,}: {why_most}; got {shown(value)}.")


def shown(value: Any) -> str:
    """A value as a message shows it; of a number that would fill the screen how long it is."""
    if isinstance(value, int) and value.bit_length() > _LONGEST / math.log10(2):
        # Python itself refuses to write out more than some thousand digits.
        return f"a number of about {int(value.bit_length() * math.log10(2)):,} digits"
    return f"{value!r:.80}"
