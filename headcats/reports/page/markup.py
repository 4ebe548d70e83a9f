"""Sections as one HTML document: escaped, with commands, links and heads in sentences recognised."""

import json
import re
from collections.abc import Callable
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
from headcats.reports.text.table import Note, Table

_HEAD = re.compile(r"\bL(\d+)H(\d+)\b")
_CODE = re.compile(r"`([^`]+)`")
_LINK = re.compile(r"\[([^\]]+)\]\(#(\w+)\)")
LARGEST = 7_900_000
"""Characters of a page: at most 8 MB."""
MOST_HEADS = 40
"""Heads that one cell of a table names; lists of all have a row for each."""
_NUMBERS = "<!-- numbers of the heads -->"
_PACKED = '<script type="application/octet-stream" id="packed-{}">{}</script>\n'
_BULLET = "- "  # sentences that begin so are the items of a list
_KINDS = {
    Drawn: "drawn", Facts: "facts", Code: "code", Link: "link", Heading: "heading", Explorer: "explorer",
    Folded: "folded", Table: "table", Note: "note",
}  # fmt: skip


@dataclass(frozen=True)
class Head:
    """What stands above the sections."""

    title: str
    heading: str
    under: str
    example: str
    """Name of a head that the model has."""


@dataclass(frozen=True)
class _Shown:
    """A part as the template takes it."""

    kind: str
    content: Any
    title: str
    parts: tuple["_Shown", ...] = ()
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
    scripts = sorted(one.name for one in assets.iterdir() if one.name.endswith(".js"))
    script = "\n".join(assets.joinpath(name).read_text(encoding="utf-8") for name in scripts)
    payloads = {}
    for drawn in _figures([part for one in sections for part in one.parts]):
        payloads[f"figure-{drawn.name}"] = deflated(_described(drawn))
    page = environment.get_template("report.html.jinja").render(
        title=head.title,
        heading=head.heading,
        under=head.under,
        example=head.example,
        sections=[{"name": one.name, "title": one.title, "parts": _shown(one.parts, one.title)} for one in sections],
        payloads=payloads.items(),
        style=Markup(assets.joinpath("report.css").read_text(encoding="utf-8")),
        script=Markup('(() => {\n"use strict";\n' + script + "\n})();"),
        plotly=Markup(get_plotlyjs()),
        dark=Markup(_json_text(DARK)),
        version=__version__,
    )
    # The numbers of single heads take what room the rest leaves.
    about, numbers = store(LARGEST - len(page))
    packed = {"heads": deflated_json(about), "numbers": deflated(numbers)}
    return page.replace(_NUMBERS, "".join(_PACKED.format(name, content) for name, content in packed.items()), 1)


def _described(drawn: Drawn) -> bytes:
    """Data and layout of a figure; the page has its own buttons and its own width."""
    text: str = drawn.figure.to_json(remove_uids=True)
    return text.encode("utf-8")


def _shown(parts: tuple[Part, ...], title: str) -> tuple[_Shown, ...]:
    made: list[_Shown] = []
    for part in parts:
        kind = _KINDS.get(type(part), "sentence")
        if isinstance(part, Folded):
            made.append(_Shown(kind, part, part.title, _shown(part.parts, part.title)))
        elif isinstance(part, Drawn):
            # Plotly's own size where a figure names none.
            size = (int(part.figure.layout.width or 700), int(part.figure.layout.height or 450))
            made.append(_Shown(kind, part, title, width=size[0], height=size[1]))
        elif kind == "sentence" and str(part).startswith(_BULLET):
            if not made or made[-1].kind != "list":
                made.append(_Shown("list", [], title))
            made[-1].content.append(str(part).removeprefix(_BULLET))
        else:
            made.append(_Shown(kind, part, title))
    return tuple(made)


def _figures(parts: list[Part]) -> list[Drawn]:
    found: list[Drawn] = []
    for part in parts:
        if isinstance(part, Drawn):
            found.append(part)
        elif isinstance(part, Folded):
            found += _figures(list(part.parts))
    return found


def _sentence(text: str) -> Markup:
    """Escaped; `code` and [links](#within) as such, and heads as buttons."""
    safe = str(escape(str(text)))
    safe = _LINK.sub(r'<a href="#\2">\1</a>', safe)
    pieces = _CODE.split(safe)
    # Every second piece stood between backticks.
    made = [f"<code>{piece}</code>" if place % 2 else _buttons(piece) for place, piece in enumerate(pieces)]
    return Markup("".join(made))


def _linked(text: str) -> Markup:
    """Escaped, with heads as buttons; a cell of very many names the first, and counts the others."""
    found = list(_HEAD.finditer(text))
    if len(found) > MOST_HEADS:
        text = f"{text[: found[MOST_HEADS - 1].end()]} and {len(found) - MOST_HEADS} more"
    return Markup(_buttons(str(escape(text))))


def _buttons(safe: str) -> str:
    return _HEAD.sub(r'<button type="button" class="head" data-head="\g<0>">\g<0></button>', safe)


def _json_text(content: Any) -> str:
    """JSON that may stand inside a script element."""
    return json.dumps(content, ensure_ascii=False).replace("</", "<\\/")
