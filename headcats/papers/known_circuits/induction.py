"""The suite `induction`: a list of random words, and the beginning of the same list once more.

`sun cat tree door | sun cat` goes on with `tree`: a head that finds where the last word stood before and reads what
followed it (Olsson et al. 2022, arXiv 2209.11895) solves this in any language model, whatever the words mean. In the
corrupted prompt two words of the first list are exchanged, the one that followed and a later one, the distractor. Lists
have seven to nine words, so no fixed distance leads to the answer. Roles: `first_query` (where the last word stood
before), `followed` and `exchanged` (the two words), `query` (the last word). The item is the pair of exchanged words.
"""

from functools import partial

from headcats.papers.known_circuits.contrasts import contrast, distinct_prompts
from headcats.papers.words import words
from headcats.prompts.pair import PromptPair
from headcats.statistics.random_streams import sample, stream
from headcats.tasks.definition import task

WORDS = 12
"""Words of a prompt."""
LISTED = (7, 8, 9)
"""Words of a list."""

_repeated = partial(task, category="Algorithmic", suite="induction")


@_repeated(source="lists drawn from the seed, of words in tables/nouns.tsv")
def repeat_things(n: int, *, seed: int) -> list[PromptPair]:
    """The word that followed the last one before, in lists of things: `tree` for `sun cup tree bed sun cup`."""
    return _repeats("things", [word for word, _ in words("nouns", "english", "plural")], n, seed)


@_repeated(source="lists drawn from the seed, of words in tables/animals.tsv")
def repeat_animals(n: int, *, seed: int) -> list[PromptPair]:
    """The word that followed the last one before, in lists of animals: `cow` for `dog owl cow cat dog owl`."""
    return _repeats("animals", [word for word, _ in words("animals", "english", "class")], n, seed)


@_repeated(source="lists drawn from the seed, of the numbers 10 to 99")
def repeat_numbers(n: int, *, seed: int) -> list[PromptPair]:
    """The number that followed the last one before: `58` for `17 42 58 80 17 42`."""
    return _repeats("numbers", [str(number) for number in range(10, 100)], n, seed)


def _repeats(name: str, pool: list[str], n: int, seed: int) -> list[PromptPair]:
    draws = stream(seed, "induction", name)

    def write(size: int) -> PromptPair:
        listed = sample(pool, size, draws)
        answer_at = WORDS - size  # as many words come again before the answer
        other_at = int(draws.integers(answer_at + 1, size))
        query, answer, distractor = listed[answer_at - 1], listed[answer_at], listed[other_at]
        slots = [*listed, *listed[:answer_at]]
        fields = {answer_at - 1: "first_query", answer_at: "followed", other_at: "exchanged", WORDS - 1: "query"}
        for place, field in fields.items():
            slots[place] = f"{{{field}}}"
        clean = {"first_query": query, "followed": answer, "exchanged": distractor, "query": query}
        return contrast(
            " ".join(slots),
            clean,
            {"followed": distractor, "exchanged": answer},
            item=" and ".join(sorted((answer, distractor))),
            answers=(answer, distractor),
            of=f"list of {size}",
        )

    return distinct_prompts(n, draws, cases=LISTED, write=write)
