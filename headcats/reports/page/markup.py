"""Sections as one HTML document: escaped, with commands, links and heads in sentences recognised."""

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader
from markupsafe import Markup, escape
from plotly.offline import get_plotlyjs

from headcats import __version__
from headcats.figures.colours import DARK
from headcats.reports.page.numbers import deflated, deflated_json
from headcats.reports.page.parts import Code, Drawn, Explorer, Facts, Folded, Heading, Link, Part, Section
from headcats.reports.text.finding import Finding, Table

_HEAD = re.compile(r"\bL(\d+)H(\d+)\b")
_CODE = re.compile(r"`([^`]+)`")
_LINK = re.compile(r"\[([^\]]+)\]\(#(\w+)\)")
LARGEST = 7_900_000
"""Characters of a page: at most 8 MB."""
MOST_HEADS = 40
"""Heads that one cell of a table names; lists of all have a row for each."""
_NUMBERS = "<!-- numbers of the heads -->"
_PACKED = '<script type="application/octet-stream" id="packed-{}">{}</script>\n'
_KINDS = {
    Drawn: "drawn", Facts: "facts", Code: "code", Link: "link", Heading: "heading", Explorer: "explorer",
    Folded: "folded", Table: "table",
}  # fmt: skip


@dataclass(frozen=True)
class Head:
    """What stands above the sections; `example` is the name of a head that the model has."""

    title: str
    heading: str
    under: str
    example: str


@dataclass(frozen=True)
class _Element:
    """A part as the template takes it."""

    kind: str
    content: Any
    title: str
    parts: tuple["_Element", ...] = ()
    width: int = 0
    height: int = 0


def document(head: Head, sections: list[Section], store: Callable[[int], tuple[dict[str, Any], bytes]]) -> str:
    """The page.

    Args:
        head: What stands above the sections.
        sections: From top to bottom.
        store: Room for the packed numbers, in characters -> what `headcats.reports.page.head_store.head_store` returns.
    """
    environment = Environment(
        loader=PackageLoader("headcats.reports.page"), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"sentence": _sentence, "linked": _linked}
    assets = files("headcats.reports.page").joinpath("assets")
    scripts = sorted(file.name for file in assets.iterdir() if file.name.endswith(".js"))
    script = "\n".join(assets.joinpath(name).read_text(encoding="utf-8") for name in scripts)
    figures = _figures([part for section in sections for part in section.parts])
    # Data and layout alone: the page has its own buttons and its own width.
    payloads = {
        f"figure-{part.name}": deflated(part.figure.to_json(remove_uids=True).encode("utf-8")) for part in figures
    }
    page = environment.get_template("report.html.jinja").render(
        title=head.title,
        heading=head.heading,
        under=head.under,
        example=head.example,
        sections=[
            {"name": section.name, "title": section.title, "parts": _elements(section.parts, section.title)}
            for section in sections
        ],
        payloads=payloads.items(),
        style=Markup(assets.joinpath("report.css").read_text(encoding="utf-8")),
        script=Markup('(() => {\n"use strict";\n' + script + "\n})();"),
        plotly=Markup(get_plotlyjs()),
        dark=Markup(json.dumps(DARK, ensure_ascii=False).replace("</", "<\\/")),
        version=__version__,
    )
    # The numbers of single heads take what room the rest leaves.
    about, numbers = store(LARGEST - len(page))
    packed = {"heads": deflated_json(about), "numbers": deflated(numbers)}
    return page.replace(_NUMBERS, "".join(_PACKED.format(name, content) for name, content in packed.items()), 1)


def _elements(parts: tuple[Part, ...], title: str) -> tuple[_Element, ...]:
    elements: list[_Element] = []
    for part in parts:
        if isinstance(part, Folded):
            elements.append(_Element("folded", part, str(part.title), _elements(part.parts, str(part.title))))
        elif isinstance(part, Drawn):
            # Plotly's own size where a figure names none.
            size = (int(part.figure.layout.width or 700), int(part.figure.layout.height or 450))
            elements.append(_Element("drawn", part, title, width=size[0], height=size[1]))
        elif isinstance(part, Finding) and part.place == "item":
            if not elements or elements[-1].kind != "list":
                elements.append(_Element("list", [], title))
            elements[-1].content.append(part)
        else:
            kind = _KINDS.get(type(part)) or (
                "note" if isinstance(part, Finding) and part.place == "note" else "sentence"
            )
            elements.append(_Element(kind, part, title))
    return tuple(elements)


def _figures(parts: Iterable[Part]) -> list[Drawn]:
    nested = [_figures(part.parts) if isinstance(part, Folded) else [part] for part in parts]
    return [part for group in nested for part in group if isinstance(part, Drawn)]


def _sentence(finding: object) -> Markup:
    """Escaped; `code` and [links](#within) as such, and heads as buttons."""
    safe = _LINK.sub(r'<a href="#\2">\1</a>', str(escape(str(finding))))
    # Every second piece stood between backticks.
    pieces = enumerate(_CODE.split(safe))
    return Markup("".join(f"<code>{piece}</code>" if place % 2 else _buttons(piece) for place, piece in pieces))


def _linked(text: str) -> Markup:
    """Escaped, with heads as buttons; a cell of very many names the first, and counts the others."""
    heads = list(_HEAD.finditer(text))
    if len(heads) > MOST_HEADS:
        text = f"{text[: heads[MOST_HEADS - 1].end()]} and {len(heads) - MOST_HEADS} more"
    return Markup(_buttons(str(escape(text))))


def _buttons(safe: str) -> str:
    return _HEAD.sub(r'<button type="button" class="head" data-head="\g<0>">\g<0></button>', safe)
