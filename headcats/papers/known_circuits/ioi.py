"""The suite `ioi`: indirect object identification (Wang et al. 2022, arXiv 2211.00593).

`When Mary and John went to the park, John gave a ring to` goes on with `Mary`, the name that was not repeated. The
corruption is symmetric token replacement (Zhang & Nanda 2023, arXiv 2309.16042): the third name is exchanged for the
other one. Names stand in the order ABBA, where the answer comes first, or BABA, where the repeated name does. Roles, as
the paper calls them: `io` (the answer), `s1` and `s2` (the repeated name), `place`, `object`, `end`. The item is the
pair of names. The sentences are ours; the names are common ones in the United States (Social Security Administration).
"""

from functools import partial
from itertools import combinations

from headcats.papers.known_circuits.contrasts import choose, contrast, distinct_prompts
from headcats.prompts.pair import PromptPair
from headcats.statistics.random_streams import stream
from headcats.tasks.definition import task

NAMES = [
    "Adam", "Alice", "Amy", "Andrew", "Anna", "Brian", "Charles", "Daniel", "David", "Emily", "Emma", "George",
    "Helen", "Henry", "Jack", "James", "Jason", "John", "Julia", "Kate", "Kevin", "Laura", "Lisa", "Mark", "Martin",
    "Mary", "Michael", "Paul", "Peter", "Rachel", "Richard", "Robert", "Sarah", "Simon", "Susan", "Thomas",
]  # fmt: skip
PLACES = ["park", "school", "station", "office", "hospital", "library", "market", "garden", "beach", "museum"]
GIVEN = ["ring", "book", "key", "letter", "map", "ball", "drink", "ticket", "coin", "flower"]
TOLD = ["story", "joke", "secret", "lie", "poem", "riddle"]
# What comes before the names, and after them.
_GIVE = (
    ("When", "went to the {place}, {s2} gave a {object} {end}"),
    ("After", "met at the {place}, {s2} handed a {object} {end}"),
    ("While", "waited at the {place}, {s2} passed a {object} {end}"),
)
_TELL = (
    ("When", "came to the {place}, {s2} told a {object} {end}"),
    ("After", "sat down in the {place}, {s2} read a {object} {end}"),
    ("While", "walked to the {place}, {s2} whispered a {object} {end}"),
)

_ioi = partial(
    task, category="Linguistic", suite="ioi", source="names, places and things listed in papers/known_circuits/ioi.py"
)


@_ioi()
def ioi_give_abba(n: int, *, seed: int) -> list[PromptPair]:
    """The other name, named first: `Mary` for `When Mary and John went to the park, John gave a ring to`."""
    return _sentences("give ABBA", _GIVE, "{io} and {s1}", GIVEN, n=n, seed=seed)


@_ioi()
def ioi_give_baba(n: int, *, seed: int) -> list[PromptPair]:
    """The other name, named second: `Mary` for `When John and Mary went to the park, John gave a ring to`."""
    return _sentences("give BABA", _GIVE, "{s1} and {io}", GIVEN, n=n, seed=seed)


@_ioi()
def ioi_tell_abba(n: int, *, seed: int) -> list[PromptPair]:
    """The other name, named first: `Mary` for `When Mary and John came to the park, John told a joke to`."""
    return _sentences("tell ABBA", _TELL, "{io} and {s1}", TOLD, n=n, seed=seed)


@_ioi()
def ioi_tell_baba(n: int, *, seed: int) -> list[PromptPair]:
    """The other name, named second: `Mary` for `When John and Mary came to the park, John told a joke to`."""
    return _sentences("tell BABA", _TELL, "{s1} and {io}", TOLD, n=n, seed=seed)


def _sentences(
    name: str, wordings: tuple[tuple[str, str], ...], names: str, things: list[str], *, n: int, seed: int
) -> list[PromptPair]:
    draws = stream(seed, "ioi", name)

    def write(pair: tuple[str, str]) -> PromptPair:
        io, s = pair if draws.integers(2) else pair[::-1]
        opening, rest = choose(wordings, draws)
        words = {"io": io, "s1": s, "s2": s, "place": choose(PLACES, draws), "object": choose(things, draws)}
        return contrast(
            f"{opening} {names} {rest}",
            words | {"end": "to"},
            {"s2": io},
            item=" and ".join(pair),
            answers=(io, s),
            of="other name repeated",
        )

    return distinct_prompts(n, draws, cases=list(combinations(NAMES, 2)), write=write)
