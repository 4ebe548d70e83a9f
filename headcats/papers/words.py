"""Words of the tables that have no inner space, and draws that differ, for suites."""

from collections.abc import Callable
from functools import cache
from typing import TypeVar

from headcats.prompts.pair import WordPair
from headcats.tasks.definition import merge, table_pairs

T = TypeVar("T")

# After so many repeated draws in a row, nearly all inputs have been drawn.
MOST_MISSES = 100


@cache
def words(table: str, source: str, target: str) -> list[WordPair]:
    """The pairs of two columns whose words have no inner space."""
    return [pair for pair in table_pairs(table, source, target) if not any(" " in word for word in pair)]


@cache
def kinds() -> list[WordPair]:
    """(noun, kind) of animals and things."""
    return merge(words("animals", "english", "class"), words("nouns", "english", "class"))


def distinct(n: int, draw: Callable[[], T], key: Callable[[T], str]) -> list[T]:
    """`n` draws with different keys, or nearly all if there are fewer."""
    drawn: dict[str, T] = {}
    misses = 0
    while len(drawn) < n and misses < MOST_MISSES:
        candidate = draw()
        misses = misses + 1 if key(candidate) in drawn else 0
        drawn.setdefault(key(candidate), candidate)
    return list(drawn.values())
