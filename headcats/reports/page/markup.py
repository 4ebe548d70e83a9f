"""Sections as one HTML document: escaped, with commands, links and heads in sentences recognised."""

import functools
import itertools
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader
from markupsafe import Markup, escape
from plotly.offline import get_plotlyjs

from headcats import __version__
from headcats.categories.membership import SETTLED
from headcats.figures.colours import DARK
from headcats.figures.static.svg import svg
from headcats.reports.page.first_screen import MARKS, FirstScreen
from headcats.reports.page.material import Material
from headcats.reports.page.numbers import deflated, deflated_json, head_store
from headcats.reports.page.parts import Drawn, Folded, Part, Tab
from headcats.results.finding import NO_LINK, OWN_BACKTICK, Finding, templates
from headcats.results.head_axes import cell_name, noun
from headcats.results.visible import visible

_HEAD = re.compile(r"\bL(\d+)[HG](\d+)\b")
_CODE = re.compile(r"`([^`]+)`")
_LINK = re.compile(r"(\[([^\]]+)\]\(#(\w+)\))")
LARGEST = 5_900_000
"""Characters of a page: at most 6 MB."""
MOST_HEADS = 40
"""Heads that one cell of a table names; lists of all have a row for each."""
_NUMBERS = "<!-- numbers of the heads -->"
_PACKED = '<script type="application/octet-stream" id="packed-{}">{}</script>\n'


def document(material: Material, tabs: Sequence[Tab], *, first: FirstScreen, heading: str = "") -> str:
    """Return the page, with its first screen and its tabs; `heading` names the run by default."""
    manifest = material.run.manifest
    environment = Environment(
        loader=PackageLoader("headcats.reports.page"),
        autoescape=True,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"sentence": _sentence, "linked": _linked, "runs": _runs, "picture": _picture}
    environment.filters["lines"] = lambda text: escape(visible(text, keep="\n"))
    assets = files("headcats.reports.page").joinpath("assets")
    scripts = sorted(file.name for file in assets.iterdir() if file.name.endswith(".js"))
    sources = [files("headcats.figures").joinpath("in_pages.js"), *map(assets.joinpath, scripts)]
    script = "\n".join(source.read_text(encoding="utf-8") for source in sources)
    styles = sorted(file.name for file in assets.iterdir() if file.name.endswith(".css"))
    style = "".join(assets.joinpath(name).read_text(encoding="utf-8") for name in styles)
    of_first = [part for each in first.maps for part in (each.hero, each.by_task) if part is not None]
    of_tabs = [part for tab in tabs for each in tab.sections for part in each.parts]
    # Data and layout alone: the page has its own buttons and its own width.
    payloads = {
        f"figure-{part.name}": deflated(part.figure.to_json(remove_uids=True).encode("utf-8"))
        for part in _figures([*of_first, *of_tabs])
    }
    payloads["plotly"] = deflated(get_plotlyjs().encode("utf-8"))
    page = environment.get_template("report.html.jinja").render(
        heading=heading or f"Attention heads of {Path(manifest.model.name).name}",
        first=first,
        title=heading or f"{manifest.model.name}, {manifest.plan.suite}",
        noun=noun(material.unit).capitalize(),
        first_cell=cell_name(next(iter(manifest.model.layers), 0), 0, material.unit),
        tabs=tabs,
        settled=round(100 * SETTLED),
        marks=MARKS,
        views=Markup(json.dumps([each.views for each in first.maps]).replace("</", "<\\/")),
        payloads=payloads.items(),
        style=Markup(style),
        script=Markup('(() => {\n"use strict";\n' + script + "\n})();"),
        dark=Markup(json.dumps(DARK, ensure_ascii=False).replace("</", "<\\/")),
        version=__version__,
    )
    # The numbers of single heads take what room the rest leaves.
    about, numbers = head_store(material, room=LARGEST - len(page))
    packed = {"heads": deflated_json(about), "numbers": deflated(numbers)}
    return page.replace(_NUMBERS, "".join(_PACKED.format(name, content) for name, content in packed.items()), 1)


def _shown(value: Any) -> Any:
    """A value before a template escapes it: its text in one line of visible characters; HTML of ours as it is."""
    return value if isinstance(value, Markup) else visible(str(value))


def _runs(parts: Iterable[Part]) -> list[tuple[str, list[Part]]]:
    """Template of parts, and the parts: items that follow each other are one list."""
    runs = itertools.groupby(parts, key=lambda part: part.place if type(part) is Finding else type(part).__name__)
    return [(kind, list(run)) for kind, run in runs]


def _picture(part: Drawn) -> Markup:
    picture = svg(part.figure)
    return Markup("" if picture is None else f"<noscript>{picture}</noscript>")


def _figures(parts: Iterable[Part]) -> Iterator[Drawn]:
    for part in parts:
        if isinstance(part, Folded):
            yield from _figures(part.parts)
        elif isinstance(part, Drawn):
            yield part


def _sentence(finding: object) -> Markup:
    """Escaped; `code` and [links](#within) as such, and heads as buttons."""
    marked = finding.marked() if isinstance(finding, Finding) else str(finding)
    safe = str(escape(visible(marked, keep=OWN_BACKTICK + NO_LINK)))
    for link, words, target in _links():
        safe = safe.replace(link, f'<a href="#{target}">{words}</a>')
    # Every second piece stood between backticks.
    pieces = enumerate(_CODE.split(safe))
    html = "".join(f"<code>{piece}</code>" if place % 2 else _buttons(piece) for place, piece in pieces)
    return Markup(html.replace(OWN_BACKTICK, "`").replace(NO_LINK, ""))


@functools.cache
def _links() -> list[tuple[str, str, str]]:
    """Links of our own sentences, with their words and where they lead; those in names of users are text."""
    return sorted({match for template in templates().values() for match in _LINK.findall(template)})


def _linked(text: object) -> Markup:
    """Escaped, with heads as buttons; a cell of very many names the first, and counts the others."""
    text = visible(str(text))
    heads = list(_HEAD.finditer(text))
    if len(heads) > MOST_HEADS:
        text = f"{text[: heads[MOST_HEADS - 1].end()]} and {len(heads) - MOST_HEADS} more"
    return Markup(_buttons(str(escape(text))))


def _buttons(safe: str) -> str:
    return _HEAD.sub(r'<button type="button" class="head" data-head="\g<0>">\g<0></button>', safe)
