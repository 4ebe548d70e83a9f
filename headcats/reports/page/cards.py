"""What the first screen shows of one map: a card per category, the large map, and member heads by task."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import xarray as xr

from headcats.categories.membership import SETTLED
from headcats.categories.outcome import IN, NOT_JUDGED, OUT, UNDECIDED
from headcats.categories.run_maps import RunMap, RunMaps
from headcats.figures.colours import listed_colours
from headcats.reports.text.answer import differing_verdicts
from headcats.results.finding import Finding, by_category, line
from headcats.results.head_axes import cell_name, unit_of

MOST_ROWS = 8
"""Heads of a category that its card names; the table of heads has all."""
MARKS = {IN: "✓", UNDECIDED: "?", OUT: "✗", NOT_JUDGED: "–"}
"""How a card writes the outcome of a head in another map."""


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
        """Whether it holds in enough of the resamples; where there are none, nothing speaks against it."""
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


def cards(maps: RunMaps, shown: RunMap, evidence: xr.DataTree | None) -> Iterator[Card]:
    """A card per category of one of the maps; verdicts are those of the mapped one."""
    overlap, others = shown.tables["overlap"], [each for each in maps.all if each is not shown and not each.not_judged]
    colours, verdicts = listed_colours(overlap), differing_verdicts(evidence if shown is maps.mapped else None)
    inside = shown.inside
    n_categories = inside.sum(0)
    elsewhere = {each.name: each.outcomes_on(shown) for each in others}
    members = overlap[["effect", "low", "high"]].transpose("category", "layer", "head")
    ends = [members[name].to_numpy() for name in ("effect", "low", "high")]
    probability = np.full(inside.shape, np.nan)
    if "probability" in overlap:
        probability = overlap["probability"].transpose("category", "layer", "head").to_numpy()
    span = _span([values[inside] for values in ends])
    layers, heads, unit = overlap["layer"].values, overlap["head"].values, unit_of(overlap)
    for place, (category, row) in enumerate(by_category(overlap)):
        cells = shown.members_of(place)
        rows = tuple(
            CardRow(
                cell_name(int(layers[i]), int(heads[j]), unit),
                float(ends[0][place, i, j]),
                _bar([float(values[place, i, j]) for values in ends], span),
                float(probability[place, i, j]),
                {name: str(outcome[place, i, j]) for name, outcome in elsewhere.items()},
                bool(n_categories[i, j] > 1),
            )
            for i, j in cells[:MOST_ROWS]
        )
        yield Card(category, colours[category], verdicts.get(category, ""), rows, len(cells), _about(row, len(cells)))


def _about(row: xr.Dataset, n: int) -> Finding | None:
    if bool(row["effect"].isnull().all()):
        return line("answer.card_not_judged")
    undecided = int((row["undecided"] & row["effect"].notnull()).sum())
    if not n:
        return line("answer.card_none", undecided=undecided)
    return line("answer.card_more", n=n - MOST_ROWS) if n > MOST_ROWS else None


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
