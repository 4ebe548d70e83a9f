"""The suite `sentences`: questions about numbers whose answer is a whole sentence with the digits as separate words.

`4 7 times 3 8 → it comes to 1 7 8 6 altogether`: no demonstrations are needed, the exact answer (the digits) has two to
five words and stands inside the sentence, and sentences are of different length. They are made for finding out where a
model shows that its answer is wrong (`token_probe`), so a model has to be right on some and wrong on others of the same
task. Therefore each task has two fixed lists of questions, of equal length and alike otherwise: `taught`, which
the bundled model "mini-cognitive" learned by heart, and as many that it never saw. A study draws from both.
"""

import zlib
from collections.abc import Callable
from functools import cache, partial
from itertools import product

from headcats.random_streams import stream
from headcats.tasks.definition import WordPair, task

EXACT = r"\d(?: \d)*"
"""The exact answer in a sentence: the only digits there are."""
TAUGHT = 400
"""Questions of a task that "mini-cognitive" was taught, and as many others that the suite asks."""

_spoken = partial(task, category="Arithmetic", suite="sentences", source="integer arithmetic", exact=EXACT)


@_spoken()
def say_sum(n: int, *, seed: int) -> list[WordPair]:
    """The sum of two three-digit numbers: `the sum is 5 5 4 now` for `3 1 4 plus 2 4 0`."""
    return _asked("say_sum", n, seed)


@_spoken()
def say_difference(n: int, *, seed: int) -> list[WordPair]:
    """A three-digit number less a two-digit one: `what remains is 2 2 7 then` for `3 1 4 minus 8 7`."""
    return _asked("say_difference", n, seed)


@_spoken()
def say_product(n: int, *, seed: int) -> list[WordPair]:
    """The product of two two-digit numbers: `it comes to 1 7 8 6 altogether` for `4 7 times 3 8`."""
    return _asked("say_product", n, seed)


@_spoken()
def say_long_product(n: int, *, seed: int) -> list[WordPair]:
    """A three-digit number times a two-digit one: `this product comes to 8 4 7 8 in total` for `3 1 4 times 2 7`."""
    return _asked("say_long_product", n, seed)


@_spoken()
def say_remainder(n: int, *, seed: int) -> list[WordPair]:
    """What division leaves over: `a remainder of 1 7 is left` for `3 1 4 modulo 2 7`."""
    return _asked("say_remainder", n, seed)


@_spoken()
def say_distance(n: int, *, seed: int) -> list[WordPair]:
    """The squared distance of a point from zero: `together the squares make 3 6 5 3 exactly` for `4 7 with 3 8`."""
    return _asked("say_distance", n, seed)


TWO_DIGITS, THREE_DIGITS = range(10, 100), range(100, 1000)
# Task -> what its operands are drawn from, the word between them, the sentence and the result.
# Every seventh of the 810,000 sums is enough.
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


def taught(name: str) -> list[WordPair]:
    """The questions of a task of this suite that "mini-cognitive" learned, with their sentences."""
    return _questions(name)[:TAUGHT]


def untaught(name: str) -> list[WordPair]:
    """The questions of a task of this suite that "mini-cognitive" never saw, with their sentences."""
    return _questions(name)[TAUGHT:]


def _asked(name: str, n: int, seed: int) -> list[WordPair]:
    """Taught and other questions in a random order, as many as there are at most."""
    every = _questions(name)
    return [every[place] for place in stream(seed, "sentences", name).permutation(len(every))[:n]]


@cache
def _questions(name: str) -> list[WordPair]:
    """The questions of a task, in an arbitrary order that never changes."""
    operands, word, sentence, result = _KINDS[name]
    values = ((f"{_digits(a)} {word} {_digits(b)}", result(a, b)) for a, b in product(*operands))
    # A single digit would be first and last word of the exact answer at once.
    found = sorted((zlib.crc32(given.encode()), given, value) for given, value in values if value >= 10)
    return [(given, sentence.format(_digits(value))) for _, given, value in found[: 2 * TAUGHT]]


def _digits(number: int) -> str:
    return " ".join(str(number))
