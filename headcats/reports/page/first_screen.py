"""What a reader sees first: what was run, the answer, how sure it is, a large map with a card per category."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import xarray as xr

from headcats.categories.run_maps import RunMap, RunMaps
from headcats.errors import pluralize
from headcats.figures.head_tasks import head_tasks
from headcats.figures.hero_map import hero_panel
from headcats.reports.page.cards import MARKS, Card, cards
from headcats.reports.page.material import Material
from headcats.reports.page.parts import Drawn
from headcats.reports.page.python_lines import figure_lines
from headcats.reports.text.answer import (
    agreements,
    approximated,
    cautions,
    certainty,
    contradictions,
    corruptions,
    headline,
    of_a_toy,
    other_tests,
)
from headcats.reports.text.short_joint import short_block
from headcats.results.finding import Finding, line


@dataclass(frozen=True)
class MapShown:
    """One map, as the switch of methods shows it.

    Attributes:
        name: In the switch.
        hero: The large map.
        views: Category, or all of them -> which traces of the large map are seen.
        cards: One per category.
        by_task: Its member heads by task; None without members.
    """

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
    """Sentences made by rules, and every map.

    Attributes:
        ran: What was run, in a line.
        headline: What was found.
        sure: What speaks for it.
        but: What speaks against it, the weightiest first.
        maps: The mapped one first; none where the page is of no method that scores tasks.
    """

    ran: Finding
    headline: tuple[Finding, ...]
    sure: tuple[Finding, ...]
    but: tuple[Finding, ...]
    maps: tuple[MapShown, ...]


def first_screen(material: Material) -> FirstScreen:
    """The first screen of a run; without a map, what was run and what there is instead."""
    maps, ran, joint = material.maps, _ran(material), tuple(_joint(material))
    if material.selected:
        short = short_block(material.run, material.selected, warnings=of_a_toy(material.run.manifest.model))
        return FirstScreen(ran, short.verdict, (*short.below, *joint), short.warnings, ())
    if maps is None:
        return FirstScreen(ran, (line("answer.no_map"),), joint, (), ())
    evidence = material.evidence[0] if material.evidence else None
    shown = tuple(_shown(material, each, place, evidence) for place, each in enumerate(maps.all))
    sure = (*certainty(maps.mapped), *agreements(maps), *joint)
    return FirstScreen(ran, tuple(headline(maps, evidence)), sure, tuple(_but(material, maps, evidence)), shown)


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
    for label, block in material.run.joint_blocks.items():
        axes = [axis for axis in ("task", "dataset", "function", "seed") if axis in block.sizes]
        size = " x ".join(pluralize(block.sizes[axis], axis) for axis in axes) or line("answer.one_map")
        yield line("answer.by_joint" if material.is_of(label) else "answer.joint", label=label, size=size)


def _but(material: Material, maps: RunMaps, evidence: xr.DataTree | None) -> Iterator[Finding]:
    yield from approximated(maps.mapped.tables["scores"])
    yield from corruptions(material.run)
    yield from contradictions(maps)
    yield from other_tests(material.evidence)
    yield from cautions(maps, evidence)
    yield from material.not_tested()
    yield from of_a_toy(material.run.manifest.model)


def _shown(material: Material, each: RunMap, place: int, evidence: xr.DataTree | None) -> MapShown:
    assert material.maps is not None
    overlap = each.tables["overlap"]
    grid = hero_panel(overlap)
    views, grid = grid.views, replace(grid, views={})
    for trace, seen in zip(grid.traces, next(iter(views.values())), strict=False):
        trace.visible = seen
        # What the pointer shows is made of the numbers that the page has of every head.
        trace.update(customdata=None, text=trace.text if trace.type == "scatter" else None, hovertemplate=None)
    figure = grid.draw().update_traces(hoverinfo="none", selector={"type": "heatmap"})
    code = figure_lines(material, each.reading, 'overlap_map(overlap, layout="hero")')
    hero = Drawn(f"hero_{place}", figure, line("map.figure"), heads="layer-head", code=code)
    return MapShown(
        each.name, hero, views, tuple(cards(material.maps, each, evidence)), _by_task(material, each, place)
    )


def _by_task(material: Material, each: RunMap, place: int) -> Drawn | None:
    if not each.inside.any():
        return None
    figure = head_tasks(each.tables["scores"], members=each.tables["overlap"])
    code = figure_lines(material, each.reading, "head_tasks(scores, members=overlap)")
    return Drawn(f"head_tasks_{place}", figure, line("map.by_task_figure"), heads="head-task", code=code)
