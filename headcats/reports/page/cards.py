"""Cards of the first screen: one per category of a map."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from headcats.categories.map_result import CategoryHeads, MapResult
from headcats.categories.membership import SETTLED
from headcats.categories.outcome import IN, NOT_JUDGED, OUT, UNDECIDED
from headcats.figures.colours import listed_colours
from headcats.results.finding import Finding, line

MOST_ROWS = 8
"""Heads of a category that its card names; the table of heads has all."""
MARKS = {IN: "✓", UNDECIDED: "?", OUT: "✗", NOT_JUDGED: "–"}
"""Marks of a card for the outcome of a head in another map."""


@dataclass(frozen=True)
class CardRow:
    """A head of a category.

    Attributes:
        bar: Start, length, and both ends of the interval, in shares of the width of a bar.
        probability: Share of resamples in which the head is in; NaN where there are none.
        elsewhere: Other map -> what it says of the head in this category: "in", "undecided", "out" or "not judged".
        shared: Whether the head is in other categories, too.
    """

    head: str
    effect: float
    bar: tuple[float, float, float, float]
    probability: float
    elsewhere: dict[str, str]
    shared: bool

    @property
    def is_sure(self) -> bool:
        """True if it holds in enough of the resamples, or there are none."""
        return not self.probability < SETTLED


@dataclass(frozen=True)
class Card:
    """A category of a map.

    Attributes:
        colour: Of the category.
        verdict: What the evidence says of it; "" for nothing, or where it is the same of all.
        rows: The heads with the largest effects.
        n_heads: All of them.
        about: What is said where there are no rows, or more than are shown.
    """

    category: str
    colour: str
    verdict: str
    rows: tuple[CardRow, ...]
    n_heads: int
    about: Finding | None


def cards(result: MapResult, shown: MapResult) -> Iterator[Card]:
    """A card per category of one of the maps; verdicts are those of the requested one."""
    overlap, others = shown.overlap, [each for each in result.all if each is not shown and not each.not_judged]
    colours, verdicts = listed_colours(overlap), result.differing_verdicts if shown is result else {}
    n_categories = shown.inside.sum(0)
    elsewhere = {each.name: each.outcomes_on(shown) for each in others}
    members = overlap[["effect", "low", "high"]].transpose("category", "layer", "head")
    ends = [members[name].to_numpy() for name in ("effect", "low", "high")]
    probability = np.full(shown.inside.shape, np.nan)
    if "probability" in overlap:
        probability = overlap["probability"].transpose("category", "layer", "head").to_numpy()
    span = _span([values[shown.inside] for values in ends])
    for place, category in enumerate(shown.categories):
        rows = tuple(
            CardRow(
                name,
                float(ends[0][place, i, j]),
                _bar([float(values[place, i, j]) for values in ends], span),
                float(probability[place, i, j]),
                {other: str(outcome[place, i, j]) for other, outcome in elsewhere.items()},
                bool(n_categories[i, j] > 1),
            )
            for name, (i, j) in zip(category.heads[:MOST_ROWS], shown.members_of(place), strict=False)
        )
        verdict = verdicts.get(category.name, "")
        yield Card(category.name, colours[category.name], verdict, rows, category.size, _about(category))


def _about(category: CategoryHeads) -> Finding | None:
    if not category.judged:
        return line("answer.card_not_judged")
    if not category.size:
        return line("answer.card_none", undecided=category.n_undecided)
    return line("answer.card_more", n=category.size - MOST_ROWS) if category.size > MOST_ROWS else None


def _span(ends: list[np.ndarray]) -> tuple[float, float]:
    """The smallest and the largest number that a bar shows, with 0 between them."""
    finite = np.concatenate([values[np.isfinite(values)] for values in ends])
    low, high = (min(0.0, float(finite.min())), max(0.0, float(finite.max()))) if len(finite) else (0.0, 1.0)
    return (low, high) if high > low else (0.0, 1.0)


def _bar(numbers: list[float], span: tuple[float, float]) -> tuple[float, float, float, float]:
    low, high = span
    zero, effect, start, stop = ((number - low) / (high - low) for number in (0.0, *numbers))
    start, stop = (effect if np.isnan(end) else end for end in (start, stop))
    return min(zero, effect), abs(effect - zero), start, stop
