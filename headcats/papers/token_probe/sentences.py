"""The suite `sentences`: questions about numbers, answered in a sentence with the digits as separate words.

`4 7 times 3 8 → it comes to 1 7 8 6 altogether`: the exact answer (the digits) has two to five words inside the
sentence. Each task has two fixed lists of similar questions: `taught`, which the bundled model "mini-cognitive"
memorised, and `untaught`, which it never saw, so that it is right on some and wrong on others. A study draws from both.
"""

import zlib
from collections.abc import Callable
from functools import cache, partial
from itertools import product

from headcats.base.registry import register
from headcats.prompts.pair import WordPair
from headcats.statistics.random_streams import stream
from headcats.tasks.definition import task
from headcats.tasks.suites import Suite, make_suite

EXACT = r"\d(?: \d)*"
"""The exact answer in a sentence: its only digits."""
TAUGHT = 400
"""Taught questions per task, and as many untaught ones."""

_spoken = partial(task, category="Arithmetic", suite="sentences", source="integer arithmetic", exact=EXACT)
TWO_DIGITS, THREE_DIGITS = range(10, 100), range(100, 1000)
# Task -> ranges of its operands (every seventh of the 810,000 sums is enough), the word between them, the sentence and
# the result.
_KINDS: dict[str, tuple[tuple[range, range], str, str, Callable[[int, int], int]]] = {
    "say_sum": ((THREE_DIGITS, range(100, 1000, 7)), "plus", "the sum is {} now", lambda a, b: a + b),
    "say_difference": ((THREE_DIGITS, TWO_DIGITS), "minus", "what remains is {} then", lambda a, b: a - b),
    "say_product": ((TWO_DIGITS, TWO_DIGITS), "times", "it comes to {} altogether", lambda a, b: a * b),
    "say_long_product": ((THREE_DIGITS, TWO_DIGITS), "times", "this product comes to {} in total", lambda a, b: a * b),
    "say_remainder": ((THREE_DIGITS, TWO_DIGITS), "modulo", "a remainder of {} is left", lambda a, b: a % b),
    "say_distance": (
        (TWO_DIGITS, TWO_DIGITS),
        "with",
        "together the squares make {} exactly",
        lambda a, b: a * a + b * b,
    ),
}


@_spoken()
def say_sum(n: int, *, seed: int) -> list[WordPair]:
    """The sum of two three-digit numbers: `the sum is 5 5 4 now` for `3 1 4 plus 2 4 0`."""
    return _draw("say_sum", n, seed)


@_spoken()
def say_difference(n: int, *, seed: int) -> list[WordPair]:
    """A three-digit number less a two-digit one: `what remains is 2 2 7 then` for `3 1 4 minus 8 7`."""
    return _draw("say_difference", n, seed)


@_spoken()
def say_product(n: int, *, seed: int) -> list[WordPair]:
    """The product of two two-digit numbers: `it comes to 1 7 8 6 altogether` for `4 7 times 3 8`."""
    return _draw("say_product", n, seed)


@_spoken()
def say_long_product(n: int, *, seed: int) -> list[WordPair]:
    """A three-digit number times a two-digit one: `this product comes to 8 4 7 8 in total` for `3 1 4 times 2 7`."""
    return _draw("say_long_product", n, seed)


@_spoken()
def say_remainder(n: int, *, seed: int) -> list[WordPair]:
    """Remainder of a division: `a remainder of 1 7 is left` for `3 1 4 modulo 2 7`."""
    return _draw("say_remainder", n, seed)


@_spoken()
def say_distance(n: int, *, seed: int) -> list[WordPair]:
    """The squared distance of a point from zero: `together the squares make 3 6 5 3 exactly` for `4 7 with 3 8`."""
    return _draw("say_distance", n, seed)


def taught(name: str) -> list[WordPair]:
    """(question, sentence) pairs of a task that "mini-cognitive" memorised."""
    return _questions(name)[:TAUGHT]


def untaught(name: str) -> list[WordPair]:
    """(question, sentence) pairs of a task that "mini-cognitive" never saw."""
    return _questions(name)[TAUGHT:]


def _draw(name: str, n: int, seed: int) -> list[WordPair]:
    """Up to `n` taught and untaught questions in random order."""
    questions = _questions(name)
    return [questions[i] for i in stream(seed, "sentences", name).permutation(len(questions))[:n]]


@cache
def _questions(name: str) -> list[WordPair]:
    """(question, sentence) pairs of a task, in an arbitrary but fixed order."""
    operands, word, sentence, result = _KINDS[name]
    values = ((f"{_digits(a)} {word} {_digits(b)}", result(a, b)) for a, b in product(*operands))
    # A single digit would be both the first and the last word of the exact answer.
    ordered = sorted((zlib.crc32(question.encode()), question, value) for question, value in values if value >= 10)
    return [(question, sentence.format(_digits(value))) for _, question, value in ordered[: 2 * TAUGHT]]


def _digits(number: int) -> str:
    return " ".join(str(number))


def sentences() -> Suite:
    """Zero-shot questions about numbers, answered in a sentence, rightly or wrongly."""
    return make_suite(list(_KINDS), name="sentences", defaults={"model": "mini-cognitive", "n_demos": 0})


register("suite", "sentences", sentences)
