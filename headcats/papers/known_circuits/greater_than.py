"""The suite `greater_than`: years that must be later, or earlier, than one that is given (after Hanna et al. 2023,
arXiv 2305.00586).

`The war began in the year 1745 and ended in the year` goes on with any later year, so each prompt compares two years,
equally far from the given one on either side: 1757 (answer) and 1733 (distractor). In the corrupted prompt `began` and
`ended` are exchanged, and with them which of the two is right. `year_span` has the paper's own contrast, in which the
corrupted span starts in 01, so that both years are right. Tokens that both years share (`17`) belong to the prompt.
Roles: `given` (the year), `first_verb` and `second_verb`, `event`, `end`.
"""

from functools import partial

from headcats.papers.known_circuits.contrasts import choose, contrast, distinct_prompts
from headcats.prompts.pair import PromptPair
from headcats.statistics.random_streams import stream
from headcats.tasks.definition import task

EVENTS = [
    "war", "siege", "reign", "voyage", "trial", "strike", "famine", "drought", "plague", "project", "expedition",
    "campaign", "dispute", "alliance", "exile", "crusade", "rebellion", "occupation", "regency", "blockade",
]  # fmt: skip
CENTURIES = range(11, 18)
DISTANCES = range(3, 21)
"""Years between the given one and each of the two answers."""
# (given year, distance), with two years in the same century, later than 01.
_CASES = [
    (100 * century + year, distance)
    for century in CENTURIES
    for distance in DISTANCES
    for year in range(2 + distance, 100 - distance)
]
_VERBS = "The {event} {first_verb} in the year {given} and {second_verb} in the {end}"
_SPAN = "The {event} lasted from the year {given} to the {end}"

_years = partial(task, category="Algorithmic", suite="greater_than", source="order of integers")


@_years()
def year_after(n: int, *, seed: int) -> list[PromptPair]:
    """A later year rather than an earlier one: `1757` for `The war began in the year 1745 and ended in the year`."""
    verbs = {"first_verb": "began", "second_verb": "ended"}
    return _contrasts("after", _VERBS, verbs, {"first_verb": "ended", "second_verb": "began"}, n=n, seed=seed)


@_years()
def year_before(n: int, *, seed: int) -> list[PromptPair]:
    """An earlier year rather than a later one: `1733` for `The war ended in the year 1745 and began in the year`."""
    verbs = {"first_verb": "ended", "second_verb": "began"}
    return _contrasts("before", _VERBS, verbs, {"first_verb": "began", "second_verb": "ended"}, n=n, seed=seed)


@_years()
def year_span(n: int, *, seed: int) -> list[PromptPair]:
    """A later year rather than an earlier one: `1757` for `The war lasted from the year 1745 to the year`."""
    return _contrasts("span", _SPAN, {}, {}, n=n, seed=seed)


def _contrasts(
    name: str, template: str, verbs: dict[str, str], exchanged: dict[str, str], *, n: int, seed: int
) -> list[PromptPair]:
    draws = stream(seed, "greater_than", name)

    def write(case: tuple[int, int]) -> PromptPair:
        given, distance = case
        earlier, later = str(given - distance), str(given + distance)
        return contrast(
            template,
            verbs | {"event": choose(EVENTS, draws), "given": str(given), "end": "year"},
            exchanged or {"given": f"{given // 100}01"},
            item=f"{earlier} {given} {later}",
            answers=(earlier, later) if name == "before" else (later, earlier),
            of="verbs exchanged" if exchanged else "start in 01",
        )

    return distinct_prompts(n, draws, cases=_CASES, write=write)
