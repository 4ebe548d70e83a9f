"""Algorithmic tasks: letters, numbers and positions in a list; the answer follows from a rule."""

import math
import string
from functools import partial
from itertools import pairwise

from headcats.prompts.pair import WordPair
from headcats.statistics.random_streams import stream
from headcats.tasks.definition import table_pairs, task

LETTERS = string.ascii_lowercase
NUMBERS = [str(number) for number in range(100)]
ITEMS_PER_LIST = 3

_alphabet = partial(task, category="Algorithmic", suite="icl", source="the Latin alphabet")
_integers = partial(task, category="Algorithmic", suite="icl", source="integer arithmetic")
_positions = partial(task, category="Algorithmic", suite="icl", source="lists drawn from the seed")


@_alphabet()
def next_letter(n: int, *, seed: int) -> list[WordPair]:
    """The letter after: `b` for `a`."""
    return list(pairwise(LETTERS))


@_alphabet()
def previous_letter(n: int, *, seed: int) -> list[WordPair]:
    """The letter before: `a` for `b`."""
    return [(later, earlier) for earlier, later in pairwise(LETTERS)]


@_alphabet()
def uppercase(n: int, *, seed: int) -> list[WordPair]:
    """The capital: `A` for `a`."""
    return list(zip(LETTERS, LETTERS.upper(), strict=True))


@_integers()
def successor(n: int, *, seed: int) -> list[WordPair]:
    """The number after: `8` for `7`."""
    return list(pairwise(NUMBERS))


@_integers()
def predecessor(n: int, *, seed: int) -> list[WordPair]:
    """The number before: `6` for `7`."""
    return [(later, earlier) for earlier, later in pairwise(NUMBERS)]


@_integers()
def plus_ten(n: int, *, seed: int) -> list[WordPair]:
    """Ten more: `17` for `7`."""
    return list(zip(NUMBERS, NUMBERS[10:], strict=False))


@_positions()
def list_first(n: int, *, seed: int) -> list[WordPair]:
    """The first of three words or numbers: `sun` for `sun, cat, door`."""
    return [(", ".join(items), items[0]) for items in _lists(n, seed)]


@_positions()
def list_middle(n: int, *, seed: int) -> list[WordPair]:
    """The second of three words or numbers: `cat` for `sun, cat, door`."""
    return [(", ".join(items), items[1]) for items in _lists(n, seed)]


@_positions()
def list_last(n: int, *, seed: int) -> list[WordPair]:
    """The third of three words or numbers: `door` for `sun, cat, door`."""
    return [(", ".join(items), items[2]) for items in _lists(n, seed)]


@_positions()
def list_max(n: int, *, seed: int) -> list[WordPair]:
    """The largest of three numbers: `71` for `4, 71, 20`."""
    return [(", ".join(items), max(items, key=int)) for items in _lists(n, seed)[1::2]]


@_positions()
def list_min(n: int, *, seed: int) -> list[WordPair]:
    """The smallest of three numbers: `4` for `4, 71, 20`."""
    return [(", ".join(items), min(items, key=int)) for items in _lists(n, seed)[1::2]]


def _lists(n: int, seed: int) -> list[list[str]]:
    """Draw up to `n` lists of three different items, words and numbers in turn: the same ones for every list task."""
    draws = stream(seed, "lists")
    # The English words of the tables, whose meaning is irrelevant to a list task.
    columns = [("nouns", "plural"), ("animals", "class"), ("verbs", "gerund"), ("adjectives", "antonym")]
    words = [word for table, column in columns for word, _ in table_pairs(table, "english", column)]
    # There are twice as many of numbers, and ever fewer that were not drawn before.
    n = min(n, math.perm(len(NUMBERS), ITEMS_PER_LIST))
    seen: dict[tuple[str, ...], None] = {}
    while len(seen) < n:
        pool = NUMBERS if len(seen) % 2 else words
        picked = draws.choice(len(pool), size=ITEMS_PER_LIST, replace=False)
        seen.setdefault(tuple(pool[index] for index in picked))
    return [list(items) for items in seen]
