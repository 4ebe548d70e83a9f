"""The suite `cognitive`: eight functions, three few-shot tasks each.

The eight functions are those of Cognitive Mirrors; the tasks are ours. Inputs are
words separated by single spaces, answers single words. Inputs of several words are drawn from the seed; for their
forms see `headcats.tasks.cognitive_inputs`.
"""

from collections.abc import Callable
from functools import partial

from headcats.prompts.pair import WordPair
from headcats.results.categories import FUNCTIONS
from headcats.tasks import cognitive_inputs as inputs
from headcats.tasks.definition import merge, task

_recall = partial(task, category=FUNCTIONS[0], suite="cognitive", source="tables/countries.tsv")
_retrieval = partial(task, category=FUNCTIONS[1], suite="cognitive", source="lists drawn from the seed")
_logic = partial(task, category=FUNCTIONS[2], suite="cognitive", source="statements drawn from the seed")
_decision = partial(task, category=FUNCTIONS[3], suite="cognitive", source="options drawn from the seed")
_semantic = partial(task, category=FUNCTIONS[4], suite="cognitive", source="tables/ nouns, animals and adjectives.tsv")
_syntactic = partial(task, category=FUNCTIONS[5], suite="cognitive", source="tables/ nouns, animals and verbs.tsv")
_inference = partial(task, category=FUNCTIONS[6], suite="cognitive", source="examples drawn from tables and integers")
_math = partial(task, category=FUNCTIONS[7], suite="cognitive", source="integer arithmetic")


@_recall()
def capital_recall(n: int, *, seed: int) -> list[WordPair]:
    """The capital: `Paris` for `France`."""
    return inputs.words("countries", "english", "capital")


@_recall()
def language_recall(n: int, *, seed: int) -> list[WordPair]:
    """The language: `French` for `France`."""
    return inputs.words("countries", "english", "language")


@_recall()
def continent_recall(n: int, *, seed: int) -> list[WordPair]:
    """The continent: `Europe` for `France`."""
    return inputs.words("countries", "english", "continent")


@_retrieval()
def value_of_key(n: int, *, seed: int) -> list[WordPair]:
    """The value of the last key: `42` for `dog 17 sun 42 tree 5 sun`."""
    return inputs.key_lists(n, seed)


@_retrieval()
def second_item(n: int, *, seed: int) -> list[WordPair]:
    """The second word of the input, whatever it means: `crow` for `owl crow hat swan`."""
    families = (inputs.odd_lists, inputs.kind_lists, inputs.number_lists, inputs.opposite_lists, inputs.analogies)
    return _places(n, seed, (*families, inputs.progressions), place=1)


@_retrieval()
def third_item(n: int, *, seed: int) -> list[WordPair]:
    """The third word of the input, whatever it means: `sun` for `dog 17 sun 42 tree 5 sun`."""
    families = (inputs.key_lists, inputs.truth_lists, inputs.implications, inputs.orders, inputs.amount_lists)
    return _places(n, seed, families, place=2)


@_logic()
def and_or(n: int, *, seed: int) -> list[WordPair]:
    """The truth of a formula with and, or, or nor: `false` for `dog true sun false dog and sun`."""
    return inputs.truth_lists(n, seed)


@_logic()
def if_then(n: int, *, seed: int) -> list[WordPair]:
    """Conclusion of two steps: `tree` for `sun so tree dog so sun dog`."""
    return inputs.implications(n, seed)


@_logic()
def transitive_order(n: int, *, seed: int) -> list[WordPair]:
    """The highest of three things: `dog` for `dog over sun and tree under sun`."""
    return inputs.orders(n, seed)


@_decision()
def choose_kind(n: int, *, seed: int) -> list[WordPair]:
    """The option of the named kind: `owl` for `bird hat owl plate`."""
    return inputs.kind_lists(n, seed)


@_decision()
def choose_number(n: int, *, seed: int) -> list[WordPair]:
    """The number that obeys the rule (largest, smallest, even, odd): `42` for `even 13 42 7`."""
    return inputs.number_lists(n, seed)


@_decision()
def choose_amount(n: int, *, seed: int) -> list[WordPair]:
    """The option with the most, or the least: `sun` for `most dog 17 sun 42 tree 5`."""
    return inputs.amount_lists(n, seed)


@_semantic()
def kind_of(n: int, *, seed: int) -> list[WordPair]:
    """The kind of thing or animal: `mammal` for `dog`, `fruit` for `apple`."""
    return inputs.kinds()


@_semantic()
def odd_one_out(n: int, *, seed: int) -> list[WordPair]:
    """The one of another kind: `hat` for `owl crow hat swan`."""
    return inputs.odd_lists(n, seed)


@_semantic()
def opposite_of_first(n: int, *, seed: int) -> list[WordPair]:
    """The one of three adjectives that means the opposite of the first: `cold` for `hot dry cold big`."""
    return inputs.opposite_lists(n, seed)


@_syntactic()
def plural_of(n: int, *, seed: int) -> list[WordPair]:
    """The plural: `dogs` for `dog`."""
    return merge(inputs.words("nouns", "english", "plural"), inputs.words("animals", "english", "plural"))


@_syntactic()
def agreement(n: int, *, seed: int) -> list[WordPair]:
    """The present form that agrees with the subject: `runs` for `dog run`, `run` for `dogs run`."""
    return [(clause, agreeing) for clause, agreeing, _ in inputs.clauses(n, seed)]


@_syntactic()
def tense(n: int, *, seed: int) -> list[WordPair]:
    """The past of the verb: `ran` for `dogs run`."""
    return [(clause, past) for clause, _, past in inputs.clauses(n, seed)]


@_inference()
def next_term(n: int, *, seed: int) -> list[WordPair]:
    """The next term of a progression: `23` for `7 11 15 19`."""
    return [(terms, after) for terms, _, after in inputs.progressions(n, seed)]


@_inference()
def previous_term(n: int, *, seed: int) -> list[WordPair]:
    """The term before a progression: `4` for `7 10 13 16`."""
    return [(terms, before) for terms, before, _ in inputs.progressions(n, seed)]


@_inference()
def analogy(n: int, *, seed: int) -> list[WordPair]:
    """The relation of the example, applied to another word: `ate` for `go went as eat`."""
    return inputs.analogies(n, seed)


@_math()
def number_sum(n: int, *, seed: int) -> list[WordPair]:
    """The sum of two numbers: `22` for `17 5`."""
    return [(f"{a} {b}", str(a + b)) for a, b in inputs.operands(n, seed)]


@_math()
def number_difference(n: int, *, seed: int) -> list[WordPair]:
    """The first number minus the second: `12` for `17 5`."""
    return [(f"{a} {b}", str(a - b)) for a, b in inputs.operands(n, seed)]


@_math()
def number_remainder(n: int, *, seed: int) -> list[WordPair]:
    """The remainder of dividing the first number by the second: `2` for `17 5`."""
    return [(f"{a} {b}", str(a % b)) for a, b in inputs.operands(n, seed)]


def _places(n: int, seed: int, families: tuple[Callable[..., list], ...], *, place: int) -> list[WordPair]:
    """The word at one place in inputs of several families in turn; other tasks share these inputs."""
    share = -(-n // len(families))
    columns = [family(share, seed) for family in families]
    in_turn = [column[row][0] for row in range(share) for column in columns if row < len(column)]
    return [(text, text.split()[place]) for text in in_turn[:n]]
