"""What a reader of several runs sees first: what differs, what agrees, what moves, and the maps side by side."""

from collections.abc import Iterator
from typing import Literal

from headcats.evidence.comparison.runs import TASKS
from headcats.figures.colours import listed_colours
from headcats.reports.page.cards import Card
from headcats.reports.page.first_screen import FirstScreen, MapShown
from headcats.reports.page.parts import Drawn
from headcats.reports.page.python_lines import figure_lines_of_runs
from headcats.reports.page.several.compared import Compared, Protocol
from headcats.reports.page.several.maps import side_by_side
from headcats.reports.text.comparison import value_text
from headcats.reports.text.side_by_side import agreeing, category_card, sureness
from headcats.results.finding import Finding, line

_WIDEST = 60
"""Characters of the values of a setting; longer ones are in the table of settings alone."""
_UNTOLD = ("model weights_hash", "model device", "model source")
"""Fields that differ in every comparison of its kind, or say only where."""


def first_screen(compared: Compared, *, with_toy: bool) -> FirstScreen:
    """The first screen; `with_toy` if a model is one that comes with headcats."""
    mapped, n = compared.protocols[0], len(compared.runs)
    if compared.runs.corresponds:
        headline = tuple(agreeing(mapped.memberships, n_runs=n))
        sure = tuple(sureness(mapped.pairs, mapped.changes, n_runs=n))
    else:
        models = {run.manifest.model.weights_hash or run.manifest.model.name for run in compared.runs.values()}
        headline = (line("several.unlike", models=len(models)),)
        sure = (line("several.sizes", runs=[_sizes(name, mapped) for name in mapped.maps]),)
    shown = tuple(_shown(compared, protocol, place) for place, protocol in enumerate(compared.protocols))
    return FirstScreen(_ran(compared), headline, sure, tuple(_but(compared, with_toy)), shown)


def _ran(compared: Compared) -> Finding:
    runs = compared.runs
    models = [runs.model] if runs.is_training else list(dict.fromkeys(run.manifest.model.name for run in runs.values()))
    parts = [
        _setting(part, values)
        for part, values in runs.differences.items()
        if part not in _UNTOLD and not (part == "model name" and len(models) > 1)
    ]
    differing = line("several.differing", parts=parts) if parts else line("several.same_settings")
    return line("several.ran", n=len(runs), models=models, names=list(runs), differing=differing)


def _setting(part: str, values: list) -> Finding:
    texts = [str(len(value)) if part == TASKS else value_text(value) for value in values]
    joined = ", ".join(texts)
    named = part.removeprefix("plan ").replace("_", " ")
    shown = line("several.values", values=joined) if len(joined) <= _WIDEST else None
    return line("several.differs", part=named, values=shown)


def _sizes(name: str, protocol: Protocol) -> Finding:
    overlap = protocol.overlaps[name]
    sizes = (overlap["member"] == 1).sum(("layer", "head")).to_series()
    return line("several.size", run=name, counts=[f"{category} {n}" for category, n in sizes.items()])


def _but(compared: Compared, with_toy: bool) -> Iterator[Finding]:
    for name, reason in compared.left_out.items():
        yield line("several.left_out", name=name, reason=reason)
    for name, each in compared.maps.items():
        if each.not_judged:
            yield line("several.left_out", name=name, reason=each.not_judged)
    if with_toy:
        yield line("answer.bundled")


def _code(compared: Compared, protocol: Protocol) -> str:
    """The map of each run by the way to judge of the first."""
    places = [compared.runs[name].place for name in protocol.maps]
    reading = next(iter(protocol.maps.values())).spec
    return figure_lines_of_runs(places, reading, 'overlap_map(overlap, layout="hero", title=folder)')


def _shown(compared: Compared, protocol: Protocol, place: int) -> MapShown:
    overlaps = protocol.overlaps
    colours = {
        name: colour for overlap in reversed(overlaps.values()) for name, colour in listed_colours(overlap).items()
    }
    categories = list(
        dict.fromkeys(name for overlap in overlaps.values() for name in overlap["category"].values.tolist())
    )
    figure, views = side_by_side(overlaps, categories=categories, corresponds=protocol.corresponds)
    heads: Literal["layer-head", ""] = "layer-head" if protocol.corresponds else ""
    hero = Drawn(f"runs_{place}", figure, line("several.figure"), _code(compared, protocol), heads)
    cards = tuple(Card(name, colours[name], "", (), 0, _about(protocol, name)) for name in categories)
    return MapShown(protocol.name, hero, views, cards, None)


def _about(protocol: Protocol, category: str) -> Finding:
    if protocol.corresponds:
        return category_card(category, protocol.memberships, protocol.pairs)
    runs = [
        line("several.size", run=name, counts=[str(int((overlap["member"].sel(category=category) == 1).sum()))])
        for name, overlap in protocol.overlaps.items()
        if category in overlap["category"].values.tolist()
    ]
    return line("several.card_sizes", runs=runs)
