"""Readable durations and plurals."""


def format_duration(seconds: float) -> str:
    """A readable duration: `under 0.1 s`, `3.5 s`, `80 s`, `5 min`, `2.5 h`."""
    if seconds < 0.05:
        return "under 0.1 s"
    if round(seconds, 1) < 10:
        return f"{seconds:.1f} s"
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def pluralize(n: int, noun: str, plural: str = "") -> str:
    """`1 task`, `2 tasks`; `plural` if it is irregular."""
    return f"{n} {noun if n == 1 else plural or noun + 's'}"
