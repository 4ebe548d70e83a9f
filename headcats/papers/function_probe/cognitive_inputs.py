"""The inputs of the suite `cognitive`: words and numbers in a few forms that several functions share.

A family is a list of (input, answer) pairs of one task, drawn from its own stream. Tasks with another question about
the same inputs (which word is second?) use several families, so that neither the words nor the length of a prompt give
the function away, and every such task can serve as another's corruption.
"""

from collections.abc import Callable
from functools import cache, partial, wraps
from itertools import product
from operator import itemgetter

import numpy as np

from headcats.papers.words import distinct, kinds, words
from headcats.prompts.pair import WordPair
from headcats.statistics.random_streams import sample, stream
from headcats.tasks.definition import Draw

DrawOne = Callable[[np.random.Generator], WordPair]

NUMBERS = [str(number) for number in range(100)]
# (table, source column, target column) of the relations of analogies.
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


@cache
def nouns() -> list[str]:
    """Things and animals, in the singular."""
    columns = [("nouns", "plural"), ("animals", "class")]
    return [word for table, column in columns for word, _ in words(table, "english", column)]


def _family(name: str) -> Callable[[DrawOne], Draw]:
    """Decorator: make a function that draws one pair a family with a random stream of that name."""

    def decorate(draw: DrawOne) -> Draw:
        @wraps(draw)
        def family(n: int, seed: int) -> list[WordPair]:
            return distinct(n, partial(draw, stream(seed, "cognitive", name)), itemgetter(0))

        return family

    return decorate


@_family("odd")
def odd_lists(draws: np.random.Generator) -> WordPair:
    """Four nouns, three of one kind; the answer is the fourth: `hat` for `owl crow hat swan`."""
    members = _members()
    kind, odd_kind = sample(sorted(kind for kind, nouns in members.items() if len(nouns) >= 3), 2, draws)
    (odd,) = sample(members[odd_kind], 1, draws)
    return " ".join(_shuffled([*sample(members[kind], 3, draws), odd], draws)), odd


@_family("kind")
def kind_lists(draws: np.random.Generator) -> WordPair:
    """A kind and three nouns; the answer is the one of this kind: `owl` for `bird hat owl plate`."""
    members = _members()
    three_kinds = sample(sorted(members), 3, draws)
    items = [sample(members[kind], 1, draws)[0] for kind in three_kinds]
    return " ".join([three_kinds[0], *_shuffled(items, draws)]), items[0]


@_family("number")
def number_lists(draws: np.random.Generator) -> WordPair:
    """A rule and three numbers; the answer is the one that obeys it: `42` for `even 13 42 7`."""
    rule = sample(["largest", "smallest", "even", "odd"], 1, draws)[0]
    if rule in ("largest", "smallest"):
        items = draws.choice(100, 3, replace=False)
        answer = items.max() if rule == "largest" else items.min()
    else:
        parity = int(rule == "odd")
        answer = 2 * draws.integers(50) + parity
        wrong = 2 * draws.choice(50, 2, replace=False) + 1 - parity
        items = draws.permutation([answer, *wrong])
    return " ".join([rule, *map(str, items)]), str(answer)


@_family("opposite")
def opposite_lists(draws: np.random.Generator) -> WordPair:
    """An adjective and three more; the answer is its opposite: `cold` for `hot dry cold big`."""
    opposites = words("adjectives", "english", "antonym")
    word, answer = opposites[draws.integers(len(opposites))]
    taken = {end for pair in opposites if {word, answer} & {*pair} for end in pair}
    free = [adjective for adjective, _ in opposites if adjective not in taken]
    return " ".join([word, *_shuffled([answer, *sample(free, 2, draws)], draws)]), answer


# The example settles the relation of an ambiguous word (`duck` as noun or verb), so no input has two answers.
@_family("analogy")
def analogies(draws: np.random.Generator) -> WordPair:
    """An example of a relation and a new word; the answer completes the analogy: `ate` for `go went as eat`."""
    pairs = words(*RELATIONS[draws.integers(len(RELATIONS))])
    (source, target), (query, answer) = (pairs[index] for index in draws.choice(len(pairs), 2, replace=False))
    return f"{source} {target} as {query}", answer


@_family("key")
def key_lists(draws: np.random.Generator) -> WordPair:
    """Three keys with values and one of the keys; the answer is its value: `42` for `dog 17 sun 42 tree 5 sun`."""
    comparatives = [word for word, _ in words("adjectives", "english", "comparative")]
    keys = sample(nouns(), 3, draws)
    pool = (NUMBERS, nouns(), ["true", "false"], comparatives)[draws.integers(4)]
    free = [word for word in pool if word not in keys]
    values = [free[index] for index in draws.choice(len(free), 3, replace=len(free) < 3)]
    place = draws.integers(3)
    text = " ".join(f"{key} {value}" for key, value in zip(keys, values, strict=True))
    return f"{text} {keys[place]}", values[place]


@_family("truth")
def truth_lists(draws: np.random.Generator) -> WordPair:
    """Two truth values and a formula; the answer is its value: `false` for `dog true sun false dog and sun`."""
    rules: dict[str, Callable[[bool, bool], bool]] = {
        "and": lambda a, b: a and b,
        "or": lambda a, b: a or b,
        "nor": lambda a, b: not (a or b),
    }
    rule = sample(list(rules), 1, draws)[0]
    # Balanced: otherwise `false` would be the answer to most.
    answer = bool(draws.integers(2))
    fitting = [case for case in product((False, True), repeat=2) if rules[rule](*case) == answer]
    names, values = sample(nouns(), 2, draws), fitting[draws.integers(len(fitting))]
    facts = " ".join(f"{name} {str(value).lower()}" for name, value in zip(names, values, strict=True))
    left, right = _shuffled(names, draws)
    return f"{facts} {left} {rule} {right}", str(answer).lower()


@_family("implication")
def implications(draws: np.random.Generator) -> WordPair:
    """Two implications and a premise; the answer is the last conclusion: `tree` for `sun so tree dog so sun dog`."""
    first, second, third, fourth = sample(nouns(), 4, draws)
    follows = bool(draws.integers(2))
    rules = [f"{first} so {second}", f"{second if follows else fourth} so {third}"]
    return f"{' '.join(_shuffled(rules, draws))} {first}", third if follows else second


@_family("order")
def orders(draws: np.random.Generator) -> WordPair:
    """Two comparisons of three things; the answer is the highest: `dog` for `dog over sun and tree under sun`."""
    high, middle, low = sample(nouns(), 3, draws)
    facts = [
        f"{above} over {below}" if draws.integers(2) else f"{below} under {above}"
        for above, below in ((high, middle), (middle, low))
    ]
    return " and ".join(_shuffled(facts, draws)), high


@_family("amount")
def amount_lists(draws: np.random.Generator) -> WordPair:
    """A rule and three things with amounts; the answer obeys it: `sun` for `most dog 17 sun 42 tree 5`."""
    rule = sample(["most", "least"], 1, draws)[0]
    names, amounts = sample(nouns(), 3, draws), draws.choice(100, 3, replace=False)
    best = int(amounts.argmax() if rule == "most" else amounts.argmin())
    text = " ".join(f"{name} {amount}" for name, amount in zip(names, amounts, strict=True))
    return f"{rule} {text}", names[best]


def progressions(n: int, seed: int) -> list[tuple[str, str, str]]:
    """Four numbers in 0 to 99, 1 to 9 apart, the one before and the one after: (`7 11 15 19`, `3`, `23`)."""
    progressions = []
    for step in [*range(-9, 0), *range(1, 10)]:
        for start in range(100):
            terms = [start + place * step for place in range(6)]
            if all(0 <= term < 100 for term in terms):
                before, *four, after = map(str, terms)
                progressions.append((" ".join(four), before, after))
    order = stream(seed, "cognitive", "progression").permutation(len(progressions))
    return [progressions[index] for index in order[:n]]


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

    pairs = distinct(n, partial(draw, stream(seed, "cognitive", "clause")), itemgetter(0))
    return [(clause, agreeing, past[clause.split()[1]]) for clause, agreeing in pairs]


def operands(n: int, seed: int) -> list[tuple[int, int]]:
    """Two different numbers, the larger one first: 10 to 59, and 2 to 19."""
    pairs = [(larger, smaller) for larger in range(10, 60) for smaller in range(2, 20) if larger > smaller]
    order = stream(seed, "cognitive", "operands").permutation(len(pairs))
    return [pairs[index] for index in order[:n]]


@cache
def _members() -> dict[str, list[str]]:
    """Kind -> its nouns."""
    members: dict[str, list[str]] = {}
    for noun, kind in kinds():
        members.setdefault(kind, []).append(noun)
    return members


def _shuffled(items: list[str], draws: np.random.Generator) -> list[str]:
    return [items[index] for index in draws.permutation(len(items))]
