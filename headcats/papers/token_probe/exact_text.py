"""Where exact answers stand in texts, and whether two are the same."""

import re
from collections.abc import Sequence


def find_exact(exact: str, text: str) -> tuple[int, int] | None:
    """Characters `[start, stop)` of the first match of `exact`, of its first group if it has one; None without text."""
    match = re.search(exact, text)
    if match is None:
        return None
    start, stop = match.span(1 if match.re.groups and match.group(1) is not None else 0)
    return (start, stop) if text[start:stop].strip() else None


def find_text(part: str, text: str) -> tuple[int, int] | None:
    """Characters `[start, stop)` of the first occurrence of a text without its outer spaces, ignoring case."""
    match = re.search(re.escape(part.strip()), text, re.IGNORECASE)
    return match.span() if match and part.strip() else None


def occurrences(part: str, text: str) -> int:
    """Number of times that a text stands in another one, ignoring case."""
    return len(re.findall(re.escape(part.strip()), text, re.IGNORECASE))


def contains_one(text: str, answers: Sequence[str]) -> bool:
    """True if one of the answers stands in the text, ignoring case."""
    return any(find_text(answer, text) for answer in answers)


def same_answer(first: str, second: str) -> bool:
    """True if two exact answers are the same, ignoring spaces, which not all tokenizers write back."""
    return "".join(first.split()) == "".join(second.split())


def first_found(text: str, answers: Sequence[str]) -> tuple[int, int] | None:
    """The occurrence that comes first; of several at one place that of the answer listed first."""
    spans = [span for span in (find_text(answer, text) for answer in answers) if span]
    return min(spans, key=lambda span: span[0], default=None)
