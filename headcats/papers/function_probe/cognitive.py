"""The suite `cognitive`: the eight functions of Cognitive Mirrors, with three few-shot tasks of ours each.

Inputs are words separated by single spaces, answers single words. Inputs of several words are drawn from the seed; for
their forms see `headcats.papers.function_probe.cognitive_inputs`.
"""

import operator
from collections.abc import Callable
from functools import partial

from headcats.base.registry import register
from headcats.papers.function_probe import cognitive_inputs as inputs
from headcats.papers.words import kinds, words
from headcats.prompts.pair import WordPair
from headcats.results.categories import FUNCTIONS, SPARE_COLOURS, Category
from headcats.tasks.bundled import tasks_of_suite
from headcats.tasks.definition import Draw, merge, pairs_task
from headcats.tasks.suites import Suite, make_suite

_task = partial(pairs_task, suite="cognitive")
_recall = partial(_task, category=FUNCTIONS[0], source="tables/countries.tsv")
_retrieval = partial(_task, category=FUNCTIONS[1], source="lists drawn from the seed")
_logic = partial(_task, category=FUNCTIONS[2], source="statements drawn from the seed")
_decision = partial(_task, category=FUNCTIONS[3], source="options drawn from the seed")
_semantic = partial(_task, category=FUNCTIONS[4], source="tables/ nouns, animals and adjectives.tsv")
_syntactic = partial(_task, category=FUNCTIONS[5], source="tables/ nouns, animals and verbs.tsv")
_inference = partial(_task, category=FUNCTIONS[6], source="examples drawn from tables and integers")
_math = partial(_task, category=FUNCTIONS[7], source="integer arithmetic")


def _words(column: str, *tables: str) -> Draw:
    return lambda n, seed: merge(*(words(table, "english", column) for table in tables))


def _column(draw: Callable[[int, int], list[tuple[str, str, str]]], place: int) -> Draw:
    return lambda n, seed: [(row[0], row[place]) for row in draw(n, seed)]


def _computed(compute: Callable[[int, int], int]) -> Draw:
    return lambda n, seed: [(f"{a} {b}", str(compute(a, b))) for a, b in inputs.operands(n, seed)]


def _places(place: int, families: tuple[Callable[..., list], ...]) -> Draw:
    """The word at one place in inputs of several families in turn; other tasks share these inputs."""

    def draw(n: int, seed: int) -> list[WordPair]:
        share = -(-n // len(families))
        columns = [family(share, seed) for family in families]
        in_turn = [column[row][0] for row in range(share) for column in columns if row < len(column)]
        return [(text, text.split()[place]) for text in in_turn[:n]]

    return draw


_recall("capital_recall", "The capital: `Paris` for `France`.", _words("capital", "countries"))
_recall("language_recall", "The language: `French` for `France`.", _words("language", "countries"))
_recall("continent_recall", "The continent: `Europe` for `France`.", _words("continent", "countries"))

_retrieval("value_of_key", "The value of the last key: `42` for `dog 17 sun 42 tree 5 sun`.", inputs.key_lists)
_retrieval(
    "second_item",
    "The second word of the input, whatever it means: `crow` for `owl crow hat swan`.",
    _places(1, (inputs.odd_lists, inputs.kind_lists, inputs.number_lists, inputs.opposite_lists, inputs.analogies,
                inputs.progressions)),
)  # fmt: skip
_retrieval(
    "third_item",
    "The third word of the input, whatever it means: `sun` for `dog 17 sun 42 tree 5 sun`.",
    _places(2, (inputs.key_lists, inputs.truth_lists, inputs.implications, inputs.orders, inputs.amount_lists)),
)

_logic(
    "and_or",
    "The truth of a formula with and, or, or nor: `false` for `dog true sun false dog and sun`.",
    inputs.truth_lists,
)
_logic("if_then", "Conclusion of two steps: `tree` for `sun so tree dog so sun dog`.", inputs.implications)
_logic("transitive_order", "The highest of three things: `dog` for `dog over sun and tree under sun`.", inputs.orders)

_decision("choose_kind", "The option of the named kind: `owl` for `bird hat owl plate`.", inputs.kind_lists)
_decision(
    "choose_number",
    "The number that obeys the rule (largest, smallest, even, odd): `42` for `even 13 42 7`.",
    inputs.number_lists,
)
_decision(
    "choose_amount",
    "The option with the most, or the least: `sun` for `most dog 17 sun 42 tree 5`.",
    inputs.amount_lists,
)

_semantic("kind_of", "The kind of thing or animal: `mammal` for `dog`, `fruit` for `apple`.", lambda n, seed: kinds())
_semantic("odd_one_out", "The one of another kind: `hat` for `owl crow hat swan`.", inputs.odd_lists)
_semantic(
    "opposite_of_first",
    "The one of three adjectives that means the opposite of the first: `cold` for `hot dry cold big`.",
    inputs.opposite_lists,
)

_syntactic("plural_of", "The plural: `dogs` for `dog`.", _words("plural", "nouns", "animals"))
_syntactic(
    "agreement",
    "The present form that agrees with the subject: `runs` for `dog run`, `run` for `dogs run`.",
    _column(inputs.clauses, 1),
)
_syntactic("tense", "The past of the verb: `ran` for `dogs run`.", _column(inputs.clauses, 2))

_inference("next_term", "The next term of a progression: `23` for `7 11 15 19`.", _column(inputs.progressions, 2))
_inference("previous_term", "The term before a progression: `4` for `7 10 13 16`.", _column(inputs.progressions, 1))
_inference(
    "analogy", "The relation of the example, applied to another word: `ate` for `go went as eat`.", inputs.analogies
)

_math("number_sum", "The sum of two numbers: `22` for `17 5`.", _computed(operator.add))
_math("number_difference", "The first number minus the second: `12` for `17 5`.", _computed(operator.sub))
_math(
    "number_remainder",
    "The remainder of dividing the first number by the second: `2` for `17 5`.",
    _computed(operator.mod),
)


def cognitive() -> Suite:
    """Eight functions of Cognitive Mirrors, Knowledge Recall to Math Calculation, with three few-shot tasks each."""
    functions = [Category(name, colour) for name, colour in zip(FUNCTIONS, SPARE_COLOURS, strict=True)]
    defaults = {"model": "mini-cognitive", "n_demos": 4}
    return make_suite(tasks_of_suite("cognitive"), name="cognitive", categories=functions, defaults=defaults)


register("suite", "cognitive", cognitive)
