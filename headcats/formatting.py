"""Numbers as people say them: durations, and things with their plural."""


def format_duration(seconds: float) -> str:
    """A duration as people say it: `3.5 s`, `80 s`, `5 min`, `2.5 h`; `under 0.1 s` where there is no more to say."""
    if seconds < 0.05:
        return "under 0.1 s"
    if round(seconds, 1) < 10:
        return f"{seconds:.1f} s"
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def pluralize(n: int, what: str, several: str = "") -> str:
    """`1 task`, `2 tasks`; `several` where the plural is not made with an s."""
    return f"{n} {what if n == 1 else several or what + 's'}"
