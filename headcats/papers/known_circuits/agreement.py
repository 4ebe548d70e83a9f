"""The suite `agreement`: the verb agrees with the subject, across a noun that may differ in number (the attractor).

`The dogs near the house` goes on with `are`, and with `is` where the subject is `dog`, which is the corruption (Marvin
& Linzen 2018, arXiv 1808.09031; Finlayson et al. 2021, arXiv 2106.06087). The numbers of subject and attractor are
balanced and independent. Roles: `subject` and `attractor`. The item is the subject, and the verb if there are several.
"""

from functools import partial
from itertools import product

from headcats.papers.known_circuits.contrasts import choose, contrast, distinct_prompts
from headcats.papers.words import kinds, words
from headcats.prompts.pair import PromptPair
from headcats.statistics.random_streams import stream
from headcats.tasks.definition import task

PREPOSITIONS = ["near", "behind", "beside", "opposite"]
PLACED = ("building", "furniture", "landscape", "plant", "tableware", "vehicle")
"""Kinds of things that somebody can be near to."""

_agrees = partial(task, category="Linguistic", suite="agreement")
_nouns = partial(_agrees, source="tables/nouns.tsv and tables/animals.tsv")


@_nouns()
def agree_present(n: int, *, seed: int) -> list[PromptPair]:
    """Is or are: `are` for `The dogs near the house`."""
    return _phrases("present", [("is", "are")], n, seed)


@_nouns()
def agree_past(n: int, *, seed: int) -> list[PromptPair]:
    """Was or were: `were` for `The dogs near the house`."""
    return _phrases("past", [("was", "were")], n, seed)


@_nouns()
def agree_perfect(n: int, *, seed: int) -> list[PromptPair]:
    """Has or have: `have` for `The dogs near the house`."""
    return _phrases("perfect", [("has", "have")], n, seed)


@_agrees(source="tables/nouns.tsv, tables/animals.tsv and tables/verbs.tsv")
def agree_verbs(n: int, *, seed: int) -> list[PromptPair]:
    """The form of a regular verb: `eat again` rather than `eats again` for `The dogs near the house`."""
    # A tokenizer may write `eats` as `eat` and `s`: what follows the verb tells them apart.
    thirds = words("verbs", "english", "third")
    regular = [(f"{third} again", f"{verb} again") for verb, third in thirds if third == f"{verb}s"]
    return _phrases("verbs", regular, n, seed)


def _phrases(name: str, verbs: list[tuple[str, str]], n: int, seed: int) -> list[PromptPair]:
    """Prompts with one of these verbs (singular, plural) as answer and distractor."""
    draws = stream(seed, "agreement", name)
    kind_of = dict(kinds())
    plurals = words("nouns", "english", "plural")
    subjects = [*words("animals", "english", "plural"), *(pair for pair in plurals if kind_of.get(pair[0]) == "person")]
    attractors = [pair for pair in plurals if kind_of.get(pair[0]) in PLACED]

    def write(case: tuple[tuple[str, str], tuple[str, str]]) -> PromptPair:
        subject, verb = case
        number, attractor_number = (int(each) for each in draws.integers(2, size=2))
        return contrast(
            f"The {{subject}} {choose(PREPOSITIONS, draws)} the {{attractor}}",
            {"subject": subject[number], "attractor": choose(attractors, draws)[attractor_number]},
            {"subject": subject[1 - number]},
            item=subject[0] if len(verbs) == 1 else f"{subject[0]} {verb[1]}",
            answers=(verb[number], verb[1 - number]),
            of="attractor alike" if number == attractor_number else "attractor differs",
        )

    return distinct_prompts(n, draws, cases=list(product(subjects, verbs)), write=write)
