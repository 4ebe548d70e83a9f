"""Algorithmic tasks: letters, numbers and positions in a list; the answer follows from a rule."""

import math
import string
from collections.abc import Callable, Iterable
from functools import partial
from itertools import pairwise

from headcats.prompts.pair import WordPair
from headcats.statistics.random_streams import sample, stream
from headcats.tasks.definition import Draw, pairs_task, table_pairs

LETTERS = string.ascii_lowercase
NUMBERS = [str(number) for number in range(100)]
ITEMS_PER_LIST = 3

_task = partial(pairs_task, category="Algorithmic", suite="icl")
_alphabet = partial(_task, source="the Latin alphabet")
_integers = partial(_task, source="integer arithmetic")
_positions = partial(_task, source="lists drawn from the seed")


def _fixed(pairs: Iterable[WordPair]) -> Draw:
    listed = list(pairs)
    return lambda n, seed: list(listed)


def _of_lists(answer: Callable[[list[str]], str], *, of_numbers: bool = False) -> Draw:
    return lambda n, seed: [
        (", ".join(items), answer(items)) for items in (_lists(n, seed)[1::2] if of_numbers else _lists(n, seed))
    ]


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
        seen.setdefault(tuple(sample(NUMBERS if len(seen) % 2 else words, ITEMS_PER_LIST, draws)))
    return [list(items) for items in seen]


_alphabet("next_letter", "The letter after: `b` for `a`.", _fixed(pairwise(LETTERS)))
_alphabet("previous_letter", "The letter before: `a` for `b`.", _fixed(pair[::-1] for pair in pairwise(LETTERS)))
_alphabet("uppercase", "The capital: `A` for `a`.", _fixed(zip(LETTERS, LETTERS.upper(), strict=True)))

_integers("successor", "The number after: `8` for `7`.", _fixed(pairwise(NUMBERS)))
_integers("predecessor", "The number before: `6` for `7`.", _fixed(pair[::-1] for pair in pairwise(NUMBERS)))
_integers("plus_ten", "Ten more: `17` for `7`.", _fixed(zip(NUMBERS, NUMBERS[10:], strict=False)))

_positions("list_first", "The first of three words or numbers: `sun` for `sun, cat, door`.", _of_lists(lambda x: x[0]))
_positions(
    "list_middle", "The second of three words or numbers: `cat` for `sun, cat, door`.", _of_lists(lambda x: x[1])
)
_positions("list_last", "The third of three words or numbers: `door` for `sun, cat, door`.", _of_lists(lambda x: x[2]))
_largest, _smallest = partial(max, key=int), partial(min, key=int)
_positions("list_max", "The largest of three numbers: `71` for `4, 71, 20`.", _of_lists(_largest, of_numbers=True))
_positions("list_min", "The smallest of three numbers: `4` for `4, 71, 20`.", _of_lists(_smallest, of_numbers=True))
