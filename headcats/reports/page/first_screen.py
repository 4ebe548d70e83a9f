"""What a reader sees first: what was run, the answer, how sure it is, a large map with a card per category."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from headcats.base.errors import pluralize
from headcats.categories.map_result import MapResult
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
    other_tests,
    toy_model_warning,
)
from headcats.reports.text.short import short_map
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
    ran, joint = _ran(material), tuple(_joint(material))
    if material.joint is not None:
        short = short_map(material.joint, warnings=toy_model_warning(material.run.manifest.model))
        return FirstScreen(ran, short.verdict, (*short.below, *joint), short.warnings, ())
    if material.scored is None:
        return FirstScreen(ran, (line("answer.no_map"),), joint, (), ())
    result = material.tested
    shown = tuple(_shown(material, result, each, place) for place, each in enumerate(result.all))
    sure = (*certainty(result), *agreements(result), *joint)
    return FirstScreen(ran, tuple(headline(result)), sure, tuple(_but(material, result)), shown)


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


def _but(material: Material, result: MapResult) -> Iterator[Finding]:
    yield from approximated(result.tables["scores"])
    yield from corruptions(material.run)
    yield from contradictions(result)
    yield from other_tests(result)
    yield from cautions(result)
    yield from material.not_tested()
    yield from toy_model_warning(material.run.manifest.model)


def _shown(material: Material, result: MapResult, each: MapResult, place: int) -> MapShown:
    grid = hero_panel(each.overlap)
    views, grid = grid.views, replace(grid, views={})
    for trace, seen in zip(grid.traces, next(iter(views.values())), strict=False):
        trace.visible = seen
        # What the pointer shows is made of the numbers that the page has of every head.
        trace.update(customdata=None, text=trace.text if trace.type == "scatter" else None, hovertemplate=None)
    figure = grid.draw().update_traces(hoverinfo="none", selector={"type": "heatmap"})
    code = figure_lines(material, each.spec, 'overlap_map(overlap, layout="hero")')
    hero = Drawn(f"hero_{place}", figure, line("map.figure"), heads="layer-head", code=code)
    return MapShown(each.name, hero, views, tuple(cards(result, each)), _by_task(material, each, place))


def _by_task(material: Material, each: MapResult, place: int) -> Drawn | None:
    if not each.inside.any():
        return None
    figure = head_tasks(each.tables["scores"], members=each.overlap)
    code = figure_lines(material, each.spec, "head_tasks(scores, members=overlap)")
    return Drawn(f"head_tasks_{place}", figure, line("map.by_task_figure"), heads="head-task", code=code)
