"""What a section of the page is made of. Findings and tables are those of `headcats.reports.text`."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

import plotly.graph_objects as go

from headcats.results.finding import Finding


@dataclass(frozen=True)
class Drawn:
    """A figure.

    Attributes:
        name: Names it within the page.
        alt: What it shows, for those who do not see it; the numbers stand in the tables beside it.
        heads: What its axes count where its cells are heads: "layer-head" or "head-layer" (x, then y), or "".
    """

    name: str
    figure: go.Figure
    alt: Finding
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
    """Another file: its address, its name, and a sentence on its content."""

    href: str
    text: str
    content: str


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

    title: Finding
    parts: tuple["Part", ...]


Part = Finding | Drawn | Facts | Code | Link | Heading | Explorer | Folded


@dataclass(frozen=True)
class Section:
    """One section of the page; `name` is its address. A section without parts is left out."""

    name: str
    title: str
    parts: tuple[Part, ...]


def section(title: str) -> Callable[[Callable[..., Iterable[Part]]], Callable[..., Section]]:
    """Make a section of a function that yields its parts; the function's name is the section's."""

    def decorator(parts_of: Callable[..., Iterable[Part]]) -> Callable[..., Section]:
        def make(material: object) -> Section:
            return Section(parts_of.__name__, title, tuple(parts_of(material)))

        make.__name__, make.__doc__ = parts_of.__name__, parts_of.__doc__
        return make

    return decorator
