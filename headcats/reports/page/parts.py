"""What a section of the page is made of. Sentences, tables and notes are those of `headcats.reports.text`."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

import plotly.graph_objects as go

from headcats.reports.text.table import Finding


@dataclass(frozen=True)
class Drawn:
    """A figure.

    Attributes:
        name: Names it within the page.
        figure: As a function of `hc.figures` returns it.
        said: What it shows, for those who do not see it; the numbers stand in the tables beside it.
        heads: What its axes count where its cells are heads: "layer-head" or "head-layer" (x, then y), or "".
    """

    name: str
    figure: go.Figure
    said: str
    heads: Literal["layer-head", "head-layer", ""] = ""


@dataclass(frozen=True)
class Facts:
    """Names and values, in two columns."""

    pairs: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Code:
    """A command, or lines of Python."""

    text: str


@dataclass(frozen=True)
class Link:
    """Another file: where, what it is called, what it shows."""

    href: str
    text: str
    what: str


@dataclass(frozen=True)
class Heading:
    """Begins a part of a section."""

    text: str


@dataclass(frozen=True)
class Explorer:
    """The choice of a method and a task, whose effects the page's script draws."""


@dataclass(frozen=True)
class Folded:
    """Parts behind a line that opens them."""

    title: str
    parts: tuple["Part", ...]


Part = Finding | Drawn | Facts | Code | Link | Heading | Explorer | Folded


@dataclass(frozen=True)
class Section:
    """One section of the page.

    Attributes:
        name: Its address in the page.
        title: Its heading.
        parts: From top to bottom; a section without parts is left out.
    """

    name: str
    title: str
    parts: tuple[Part, ...]


def section(title: str) -> Callable[[Callable[..., Iterable[Part]]], Callable[..., Section]]:
    """Make a section of a function that yields its parts; the function's name is the section's."""

    def made(parts_of: Callable[..., Iterable[Part]]) -> Callable[..., Section]:
        def of(material: object) -> Section:
            return Section(parts_of.__name__, title, tuple(parts_of(material)))

        of.__name__, of.__doc__ = parts_of.__name__, parts_of.__doc__
        return of

    return made
