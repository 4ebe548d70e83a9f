"""The inputs of the suite `cognitive`: words and numbers in a few shapes that several functions share.

A family is a list of (input, answer) pairs of one task, drawn from a stream of its own. Tasks that ask something else
about the same inputs (which word stands second?) take the inputs of several families, so that neither the words nor the
length of a prompt say which function is asked for, and every such task can serve as another's corruption.
"""

from collections.abc import Callable
from functools import cache

import numpy as np

from headcats.random_streams import stream
from headcats.tasks.table import merge, table_pairs

WordPair = tuple[str, str]
Draw = Callable[[np.random.Generator], WordPair]

NUMBERS = [str(number) for number in range(100)]
# (table, source column, target column) of every relation that an analogy shows.
RELATIONS = (
    ("nouns", "english", "plural"),
    ("animals", "english", "plural"),
    ("nouns", "english", "class"),
    ("animals", "english", "class"),
    ("verbs", "english", "past"),
    ("verbs", "english", "third"),
    ("adjectives", "english", "antonym"),
    ("adjectives", "english", "comparative"),
    ("countries", "english", "capital"),
    ("countries", "english", "language"),
)

# So many draws in a row that bring nothing new mean that hardly anything new is left.
MOST_MISSES = 100


@cache
def words(table: str, source: str, target: str) -> list[WordPair]:
    """The pairs of two columns whose words have no inner space."""
    return [pair for pair in table_pairs(table, source, target) if not any(" " in word for word in pair)]


@cache
def nouns() -> list[str]:
    """Things and animals, in the singular."""
    columns = [("nouns", "plural"), ("animals", "class")]
    return [word for table, column in columns for word, _ in words(table, "english", column)]


@cache
def kinds() -> list[WordPair]:
    """(noun, kind) of animals and things."""
    return merge(words("animals", "english", "class"), words("nouns", "english", "class"))


def odd_lists(n: int, seed: int) -> list[WordPair]:
    """Four nouns, three of one kind; the answer is the fourth: `hat` for `owl crow hat swan`."""
    members = _members()
    large = sorted(kind for kind, nouns_of_kind in members.items() if len(nouns_of_kind) >= 3)

    def draw(draws: np.random.Generator) -> WordPair:
        kind, other = _sample(large, 2, draws)
        odd = _sample(members[other], 1, draws)
        items = _shuffled([*_sample(members[kind], 3, draws), *odd], draws)
        return " ".join(items), odd[0]

    return _distinct(draw, n, stream(seed, "cognitive", "odd"))


def kind_lists(n: int, seed: int) -> list[WordPair]:
    """A kind and three nouns, one of them of it, which is the answer: `owl` for `bird hat owl plate`."""
    members = _members()

    def draw(draws: np.random.Generator) -> WordPair:
        chosen = _sample(sorted(members), 3, draws)
        items = [_sample(members[kind], 1, draws)[0] for kind in chosen]
        return " ".join([chosen[0], *_shuffled(items, draws)]), items[0]

    return _distinct(draw, n, stream(seed, "cognitive", "kind"))


def number_lists(n: int, seed: int) -> list[WordPair]:
    """A rule and three numbers, one of which obeys it, the answer: `42` for `even 13 42 7`."""

    def draw(draws: np.random.Generator) -> WordPair:
        rule = _sample(["largest", "smallest", "even", "odd"], 1, draws)[0]
        if rule in ("largest", "smallest"):
            items = draws.choice(100, 3, replace=False)
            answer = items.max() if rule == "largest" else items.min()
        else:
            parity = int(rule == "odd")
            answer = 2 * draws.integers(50) + parity
            others = 2 * draws.choice(50, 2, replace=False) + 1 - parity
            items = draws.permutation([answer, *others])
        return " ".join([rule, *map(str, items)]), str(answer)

    return _distinct(draw, n, stream(seed, "cognitive", "number"))


def opposite_lists(n: int, seed: int) -> list[WordPair]:
    """An adjective and three more, one its opposite, the answer: `cold` for `hot dry cold big`."""
    opposites = words("adjectives", "english", "antonym")
    taken: dict[str, set[str]] = {}
    for word, other in opposites:
        taken.setdefault(word, {word}).add(other)
        taken.setdefault(other, {other}).add(word)

    def draw(draws: np.random.Generator) -> WordPair:
        word, answer = opposites[draws.integers(len(opposites))]
        free = [other for other, _ in opposites if other not in taken[word] | taken[answer]]
        items = _shuffled([answer, *_sample(free, 2, draws)], draws)
        return " ".join([word, *items]), answer

    return _distinct(draw, n, stream(seed, "cognitive", "opposite"))


def analogies(n: int, seed: int) -> list[WordPair]:
    """An example of a relation and a new word, to which the answer stands in it: `ate` for `go went as eat`."""

    def draw(draws: np.random.Generator) -> WordPair:
        pairs = words(*RELATIONS[draws.integers(len(RELATIONS))])
        (given, shown), (asked, answer) = (pairs[index] for index in draws.choice(len(pairs), 2, replace=False))
        return f"{given} {shown} as {asked}", answer

    # A word with two readings (`duck` as noun or verb) has one answer per example, so no input has two.
    return _distinct(draw, n, stream(seed, "cognitive", "analogy"))


def progressions(n: int, seed: int) -> list[tuple[str, str, str]]:
    """Four equally spaced numbers, the one before and the one after them: (`7 11 15 19`, `3`, `23`).

    Steps of 1 to 9 up or down; all numbers are in 0 to 99.
    """
    every = []
    for step in [*range(-9, 0), *range(1, 10)]:
        for start in range(100):
            terms = [start + place * step for place in range(6)]
            if all(0 <= term < 100 for term in terms):
                before, *shown, after = map(str, terms)
                every.append((" ".join(shown), before, after))
    order = stream(seed, "cognitive", "progression").permutation(len(every))
    return [every[index] for index in order[:n]]


def key_lists(n: int, seed: int) -> list[WordPair]:
    """Three keys with values, and a key; the answer is its value: `42` for `dog 17 sun 42 tree 5 sun`."""
    pools = [NUMBERS, nouns(), ["true", "false"], [word for word, _ in words("adjectives", "english", "comparative")]]

    def draw(draws: np.random.Generator) -> WordPair:
        keys = _sample(nouns(), 3, draws)
        pool = pools[draws.integers(len(pools))]
        free = [word for word in pool if word not in keys]
        values = [free[index] for index in draws.choice(len(free), 3, replace=len(free) < 3)]
        asked = draws.integers(3)
        text = " ".join(f"{key} {value}" for key, value in zip(keys, values, strict=True))
        return f"{text} {keys[asked]}", values[asked]

    return _distinct(draw, n, stream(seed, "cognitive", "key"))


def truth_lists(n: int, seed: int) -> list[WordPair]:
    """Two truth values and a formula; the answer is its value: `false` for `dog true sun false dog and sun`."""
    rules: dict[str, Callable[[bool, bool], bool]] = {
        "and": lambda a, b: a and b,
        "or": lambda a, b: a or b,
        "nor": lambda a, b: not (a or b),
    }
    cases = [(a, b) for a in (False, True) for b in (False, True)]

    def draw(draws: np.random.Generator) -> WordPair:
        rule = _sample(list(rules), 1, draws)[0]
        # As often true as false, or always answering `false` would be right for most.
        wanted = bool(draws.integers(2))
        fitting = [case for case in cases if rules[rule](*case) == wanted]
        names, values = _sample(nouns(), 2, draws), fitting[draws.integers(len(fitting))]
        facts = " ".join(f"{name} {str(value).lower()}" for name, value in zip(names, values, strict=True))
        asked = _shuffled(names, draws)
        return f"{facts} {asked[0]} {rule} {asked[1]}", str(wanted).lower()

    return _distinct(draw, n, stream(seed, "cognitive", "truth"))


def implications(n: int, seed: int) -> list[WordPair]:
    """Two implications and a premise; the answer is the last thing that follows: `tree` for `sun so tree dog so sun
    dog`, and `sun` for `dog so sun cat so tree dog`.
    """

    def draw(draws: np.random.Generator) -> WordPair:
        first, second, third, fourth = _sample(nouns(), 4, draws)
        if draws.integers(2):
            rules, answer = [f"{first} so {second}", f"{second} so {third}"], third
        else:
            rules, answer = [f"{first} so {second}", f"{fourth} so {third}"], second
        return f"{' '.join(_shuffled(rules, draws))} {first}", answer

    return _distinct(draw, n, stream(seed, "cognitive", "implication"))


def orders(n: int, seed: int) -> list[WordPair]:
    """Two comparisons of three things; the answer is the highest: `dog` for `dog over sun and tree under sun`."""

    def draw(draws: np.random.Generator) -> WordPair:
        high, middle, low = _sample(nouns(), 3, draws)
        facts = [
            f"{above} over {below}" if draws.integers(2) else f"{below} under {above}"
            for above, below in ((high, middle), (middle, low))
        ]
        return " and ".join(_shuffled(facts, draws)), high

    return _distinct(draw, n, stream(seed, "cognitive", "order"))


def amount_lists(n: int, seed: int) -> list[WordPair]:
    """A rule and three things with amounts; the answer obeys it: `sun` for `most dog 17 sun 42 tree 5`."""

    def draw(draws: np.random.Generator) -> WordPair:
        rule = _sample(["most", "least"], 1, draws)[0]
        names, amounts = _sample(nouns(), 3, draws), draws.choice(100, 3, replace=False)
        best = int(amounts.argmax() if rule == "most" else amounts.argmin())
        text = " ".join(f"{name} {amount}" for name, amount in zip(names, amounts, strict=True))
        return f"{rule} {text}", names[best]

    return _distinct(draw, n, stream(seed, "cognitive", "amount"))


def clauses(n: int, seed: int) -> list[tuple[str, str, str]]:
    """A subject and a verb, the verb that agrees with it and its past: (`dogs run`, `run`, `ran`)."""
    subjects = [*words("animals", "english", "plural")]
    people = {noun for noun, kind in kinds() if kind == "person"}
    subjects += [pair for pair in words("nouns", "english", "plural") if pair[0] in people]
    past = dict(words("verbs", "english", "past"))
    verbs = [(verb, third) for verb, third in words("verbs", "english", "third") if verb in past]

    def draw(draws: np.random.Generator) -> WordPair:
        subject, (verb, third) = subjects[draws.integers(len(subjects))], verbs[draws.integers(len(verbs))]
        many = int(draws.integers(2))
        return f"{subject[many]} {verb}", verb if many else third

    drawn = _distinct(draw, n, stream(seed, "cognitive", "clause"))
    return [(given, agreeing, past[given.split()[1]]) for given, agreeing in drawn]


def operands(n: int, seed: int) -> list[tuple[int, int]]:
    """Two different numbers, the larger one first: 10 to 59, and 2 to 19."""
    every = [(larger, smaller) for larger in range(10, 60) for smaller in range(2, 20) if larger > smaller]
    order = stream(seed, "cognitive", "operands").permutation(len(every))
    return [every[index] for index in order[:n]]


@cache
def _members() -> dict[str, list[str]]:
    """Kind -> its nouns."""
    members: dict[str, list[str]] = {}
    for noun, kind in kinds():
        members.setdefault(kind, []).append(noun)
    return members


def _distinct(draw: Draw, n: int, draws: np.random.Generator) -> list[WordPair]:
    """`n` pairs of different inputs, or nearly all there are where there are fewer."""
    found: dict[str, WordPair] = {}
    misses = 0
    while len(found) < n and misses < MOST_MISSES:
        pair = draw(draws)
        misses = misses + 1 if pair[0] in found else 0
        found.setdefault(pair[0], pair)
    return list(found.values())


def _sample(pool: list[str], size: int, draws: np.random.Generator) -> list[str]:
    return [pool[index] for index in draws.choice(len(pool), size, replace=False)]


def _shuffled(items: list[str], draws: np.random.Generator) -> list[str]:
    return [items[index] for index in draws.permutation(len(items))]
