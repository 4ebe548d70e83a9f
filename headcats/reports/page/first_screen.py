"""What a reader sees first: what was run, the answer, how sure it is, a large map with a card per category."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import xarray as xr

from headcats.base.errors import pluralize
from headcats.categories.map_result import CategoryHeads, MapResult
from headcats.categories.membership import SETTLED
from headcats.categories.outcome import IN, NOT_JUDGED, OUT, UNDECIDED
from headcats.figures.colours import listed_colours
from headcats.figures.head_tasks import head_tasks
from headcats.figures.hero_map import hero_panel
from headcats.reports.page.material import Material
from headcats.reports.page.parts import Drawn
from headcats.reports.text.answer import agreements, certainty, headline, toy_model_warning, undecided_in
from headcats.reports.text.short import short_map
from headcats.results.finding import Finding, line

MOST_ROWS = 8
"""Heads of a category that its card names; the table of heads has all."""
MARKS = {IN: "✓", UNDECIDED: "?", OUT: "✗", NOT_JUDGED: "–"}
"""Marks of a card for the outcome of a head in another map."""


@dataclass(frozen=True)
class CardRow:
    """A head of a category; `bar` is start, length and both ends of the interval, in shares of the width."""

    head: str
    undecided: Finding | None
    effect: float
    bar: tuple[float, float, float, float]
    probability: float
    elsewhere: dict[str, str]

    @property
    def is_sure(self) -> bool:
        """True if it holds in enough of the resamples, or there are none."""
        return not self.probability < SETTLED


@dataclass(frozen=True)
class Card:
    """A category of a map; `about` stands where there are no rows, or more than are shown."""

    category: str
    colour: str
    verdict: str
    rows: tuple[CardRow, ...]
    n_heads: int
    about: Finding | None


@dataclass(frozen=True)
class MapShown:
    """One map, as the switch of methods shows it; `views` tells which traces of the hero each category shows."""

    name: str
    hero: Drawn
    views: Mapping[str, Sequence[bool]]
    cards: tuple[Card, ...]
    by_task: Drawn | None

    @property
    def marks(self) -> dict[str, str]:
        """Mark -> the outcome that it stands for, of those that the cards show."""
        shown = {outcome for card in self.cards for row in card.rows for outcome in row.elsewhere.values()}
        return {mark: outcome for outcome, mark in MARKS.items() if outcome in shown}


@dataclass(frozen=True)
class FirstScreen:
    """Sentences made by rules, the weightiest first, and every map, the requested one first."""

    ran: Finding
    headline: tuple[Finding, ...]
    sure: tuple[Finding, ...]
    but: tuple[Finding, ...]
    maps: tuple[MapShown, ...]


def first_screen(material: Material) -> FirstScreen:
    """The first screen of a run; without a map, what was run and what there is instead."""
    ran, joint = _ran(material), tuple(_joint(material))
    if material.joint is not None:
        short = short_map(material.joint, warnings=toy_model_warning(material.run.manifest.model))
        return FirstScreen(ran, short.verdict, (*short.below, *joint), short.warnings, ())
    if material.scored is None:
        return FirstScreen(ran, (line("answer.no_map"),), joint, (), ())
    result = material.tested
    shown = tuple(_shown(result, each, place) for place, each in enumerate(result.all))
    sure = (*certainty(result), *agreements(result), *joint)
    return FirstScreen(ran, tuple(headline(result)), sure, tuple(material.doubts()), shown)


def _ran(material: Material) -> Finding:
    manifest = material.run.manifest
    return line(
        "answer.ran",
        layers=len(manifest.model.layers),
        heads=sum(manifest.model.heads),
        scored=len(material.run.scored_tasks),
        tasks=len(manifest.tasks),
        suite=manifest.plan.suite,
        date=manifest.created and f", {manifest.created[:10]}",
    )


def _joint(material: Material) -> Iterator[Finding]:
    """Methods whose numbers are no map of this kind."""
    shown = None if material.joint is None else material.joint.method
    for label, block in material.run.joint_blocks.items():
        axes = [axis for axis in ("task", "dataset", "function", "seed") if axis in block.sizes]
        size = " x ".join(pluralize(block.sizes[axis], axis) for axis in axes) or line("answer.one_map")
        yield line("answer.by_joint" if label == shown else "answer.joint", label=label, size=size)


def _shown(result: MapResult, each: MapResult, place: int) -> MapShown:
    grid = hero_panel(each.overlap)
    views, grid = grid.views, replace(grid, views={})
    for trace, seen in zip(grid.traces, next(iter(views.values())), strict=False):
        trace.visible = seen
        # What the pointer shows is made of the numbers that the page has of every head.
        trace.update(customdata=None, text=trace.text if trace.type == "scatter" else None, hovertemplate=None)
    figure = grid.draw().update_traces(hoverinfo="none", selector={"type": "heatmap"})
    hero = Drawn(f"hero_{place}", figure, line("map.figure"), heads="layer-head")
    return MapShown(each.name, hero, views, tuple(cards(result, each)), _by_task(each, place))


def _by_task(each: MapResult, place: int) -> Drawn | None:
    if not each.inside.any():
        return None
    figure = head_tasks(each.tables["scores"], members=each.overlap)
    return Drawn(f"head_tasks_{place}", figure, line("map.by_task_figure"), heads="head-task")


def cards(result: MapResult, shown: MapResult) -> Iterator[Card]:
    """A card per category of one of the maps; verdicts are those of the requested one."""
    overlap, others = shown.overlap, [each for each in result.all if each is not shown and not each.not_judged]
    colours, verdicts = listed_colours(overlap), result.differing_verdicts if shown is result else {}
    elsewhere = {each.name: each.outcomes_on(shown) for each in others}
    members = overlap[["effect", "low", "high"]].transpose("category", "layer", "head")
    ends = [members[name].to_numpy() for name in ("effect", "low", "high")]
    shares = overlap.get("probability", xr.full_like(overlap["effect"], np.nan))
    probability = shares.transpose("category", "layer", "head").to_numpy()
    span = _span([values[shown.inside] for values in ends])
    for place, category in enumerate(shown.categories):
        rows = tuple(
            CardRow(
                name,
                undecided_in(n_open),
                float(ends[0][place, i, j]),
                _bar([float(values[place, i, j]) for values in ends], span),
                float(probability[place, i, j]),
                {other: str(outcome[place, i, j]) for other, outcome in elsewhere.items()},
            )
            for name, n_open, (i, j) in zip(
                category.heads[:MOST_ROWS], category.open_elsewhere, shown.members_of(place), strict=False
            )
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
