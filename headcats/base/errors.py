"""Errors and warnings, of which all errors derive from `HeadcatsError`, and what messages say of values and names.

The command line prints any `HeadcatsError` as one message without a traceback and exits with code 2.
"""

import collections.abc
import difflib
import math
import numbers
import re

MOST_STEPS = 10_000_000
"""Draws, updates and the like."""
TOO_LONG = "more would take days, and change no digit of a result"
_LONGEST = 60  # digits of a number that is shown in full
_LONGEST_LINE = 160  # characters of a sentence that another library wrote
_LONGEST_LIST = 300
LONGEST_NAME = 200
"""Characters of a name: with a hash and a suffix it is still the name of a file."""


class HeadcatsError(Exception):
    """Base of every error that headcats raises; its text says what was expected, what it got and what to do."""

    def __str__(self) -> str:
        # KeyError would print the repr of its argument.
        return str(self.args[0]) if self.args else ""


class UnknownNameError(HeadcatsError, KeyError):
    """A task, suite, method, metric, rule, figure, model or template that is not registered."""


class OptionError(HeadcatsError, ValueError):
    """An option outside its range."""


class DataError(HeadcatsError, ValueError):
    """Prompts, tokens, tasks or scores that cannot give meaningful numbers."""


class TooFewItemsError(DataError):
    """So few query items that a rule with p values could call no head, whatever the effects."""


class NothingScoredError(DataError):
    """A run whose tasks are all skipped; `refused_by` says by which conditions (see `TaskRecord.refused_by`)."""

    def __init__(self, message: str, *, refused_by: tuple[str, ...]) -> None:
        super().__init__(message)
        self.refused_by = refused_by


class ModelError(HeadcatsError, ValueError):
    """A model that cannot be loaded, or that would give meaningless numbers: NaN weights, dropout, silent hooks."""


class ExtensionError(HeadcatsError):
    """A task, metric, method, rule, figure or template of somebody else that failed, or gave something else.

    The message names it; what it raised, with its own traceback, is the `__cause__`. Pairs that a task gives are data:
    what is wrong with them is a `DataError`.
    """


class PlanError(HeadcatsError, ValueError):
    """A results folder with another plan than the current one."""


class ClusterError(HeadcatsError, RuntimeError):
    """A cluster that cannot be used, or work that cannot be done on it."""


class MemoryShortageError(ModelError):
    """Memory that runs out with the smallest piece of work, too."""


class MemoryLimitError(OptionError, MemoryShortageError):
    """A limit, or what is free, that the smallest piece of work does not fit into, as is known before it is tried."""


class StorageError(HeadcatsError, OSError):
    """A results folder that cannot be read or written."""


class DamagedFileError(StorageError):
    """A file of results that does not hold what was written to it."""


class OccupiedError(StorageError):
    """A results folder that another process, or another thread, is writing."""


class HeadcatsWarning(UserWarning):
    """Base of every warning of headcats."""


class StatisticsWarning(HeadcatsWarning):
    """A statistic that is easily over-interpreted."""


class StorageWarning(HeadcatsWarning):
    """Results that are not whole: a block is damaged or missing."""


class TokenizationWarning(HeadcatsWarning):
    """Text that the tokenizer does not represent as the task means it."""


class ModelWarning(HeadcatsWarning):
    """A property of the model that changes what a number means."""


def first_line(error: Exception) -> str:
    """The first line of an error's text (two if it ends in a colon), cut, without the full stop; else its class."""
    first, *others = str(error).strip().splitlines() or [type(error).__name__]
    line = (f"{first} {others[0].strip()}" if first.endswith(":") and others else first).rstrip(".")
    return line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]} ..."  # some name every weight


def format_duration(seconds: float) -> str:
    """A readable duration: `under 0.1 s`, `3.5 s`, `80 s`, `5 min`, `2.5 h`."""
    if seconds < 0.05:
        return "under 0.1 s"
    if round(seconds, 1) < 10:
        return f"{seconds:.1f} s"
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def about(seconds: float) -> str:
    """An estimate of a duration: `about 3.5 s`, `under 0.1 s`."""
    duration = format_duration(seconds)
    return duration if duration.startswith("under") else f"about {duration}"


def pluralize(n: int, noun: str, plural: str = "") -> str:
    """`1 task`, `2 tasks`; `plural` if it is irregular."""
    return f"{n} {noun if n == 1 else plural or noun + 's'}"


def check_count(
    name: str, value: object, *, least: int = 1, most: float = MOST_STEPS, why_most: str = TOO_LONG
) -> None:
    """Raises OptionError unless `value` is a whole number from `least` to `most`; `why_most` says why not more."""
    if not isinstance(value, numbers.Integral) or isinstance(value, bool) or int(value) < least:
        raise OptionError(f"{name} must be a whole number of at least {least}; got {shown(value)}.")
    if int(value) > most:
        raise OptionError(f"{name} must be a whole number of at most {most:,}: {why_most}; got {shown(value)}.")


def shown(value: object) -> str:
    """A value as a message shows it; of a number that would fill the screen how long it is."""
    if isinstance(value, int) and value.bit_length() > _LONGEST / math.log10(2):
        # Python itself refuses to write out more than some thousand digits.
        return f"a number of about {int(value.bit_length() * math.log10(2)):,} digits"
    return f"{value!r:.80}"


def unstorable(text: str, *, most: int | None = None) -> str:
    """Why the tables of results cannot hold a text, or one of `most` characters; "" where they can."""
    if most is not None and len(text) > most:
        return f"which has {len(text)} characters, more than {most}"
    if "\0" in text:
        return "which holds the character NUL"
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:  # of the name of a file that is no UTF-8, or of half an escape in JSON
        return "which is no valid Unicode: it holds half of a surrogate pair"
    return ""


def unknown_name_message(kind: str, name: str, candidates: collections.abc.Iterable[object]) -> str:
    """Message for an unknown name: near matches and names that begin with it, then all candidates."""
    known = list(map(str, candidates))
    noun, place = re.fullmatch(r"(.+?)((?: (?:of|in) .+)?)", kind, flags=re.DOTALL).groups()  # type: ignore[union-attr]
    begun = [candidate for candidate in known if len(str(name)) > 1 and candidate.startswith(str(name))]
    near = list(dict.fromkeys([*difflib.get_close_matches(str(name), known, n=3, cutoff=0.5), *begun]))[:3]
    hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
    return f"Unknown {noun} {name!r:.80}{place}.{hint} Known: {first_few(known) or 'none is registered'}."


def first_few(names: collections.abc.Sequence[str]) -> str:
    """Names separated by commas; of a list that fills a screen the first five, and how many more there are."""
    listed = ", ".join(names)
    if len(listed) <= _LONGEST_LIST:
        return listed
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(name if len(name) <= 40 else f"{name[:40]}…" for name in names[:5]) + more
