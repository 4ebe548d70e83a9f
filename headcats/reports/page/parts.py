"""What a section of the page is made of. Findings and tables are those of `headcats.reports.text`."""

import logging
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import plotly.graph_objects as go

from headcats.base.errors import DamagedFileError, DataError, ExtensionError, OptionError, UnknownNameError
from headcats.base.guard import own_traceback
from headcats.results.finding import Finding, line
from headcats.results.place import Place
from headcats.results.tables import as_written

_log = logging.getLogger("headcats")


@dataclass(frozen=True)
class Drawn:
    """A figure; `heads` is what its axes count (x, then y) where its cells are heads."""

    name: str
    figure: go.Figure
    alt: Finding
    heads: Literal["layer-head", "head-task", ""] = ""


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
class Folded:
    """Parts behind a line that opens them."""

    title: Finding
    parts: tuple["Part", ...]


def drawn_or_why_not(
    name: str, draw: Callable[[], go.Figure], alt: Finding, heads: Literal["layer-head", ""] = ""
) -> Drawn | Finding:
    """The figure that `draw` gives; a sentence where the data do not allow one, or where a user's figure fails."""
    try:
        with as_written("what it shows", again="The same `headcats run`"):
            return Drawn(name, draw(), alt, heads)
    # A probe at chance, a package that is not installed, or a table of another version.
    except (DataError, UnknownNameError, DamagedFileError) as error:
        return line("text.not_drawn", reason=error)
    except ExtensionError as error:
        _log.warning("The report is without a figure. %s\n%s", error, own_traceback(error))
        return line("text.not_drawn", reason=error)


Part = Finding | Drawn | Facts | Code | Link | Heading | Folded


@dataclass(frozen=True)
class Section:
    """One section of the page; `name` is its address. A section without parts is left out."""

    name: str
    title: str
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Tab:
    """Sections that are seen together; `name` is their address. A tab without sections is left out."""

    name: str
    title: str
    sections: tuple[Section, ...]


def section(title: str) -> Callable[[Callable[..., Iterable[Part]]], Callable[..., Section]]:
    """Make a section of a function that yields its parts; the function's name is the section's."""

    def decorator(parts_of: Callable[..., Iterable[Part]]) -> Callable[..., Section]:
        def make(material: object) -> Section:
            return Section(parts_of.__name__, title, tuple(parts_of(material)))

        make.__name__, make.__doc__ = parts_of.__name__, parts_of.__doc__
        return make

    return decorator


def target_of(path: str | os.PathLike[str] | None, place: Place | None, suffix: str) -> Path:
    """File of a page; an OptionError for what is no page, or for results in memory without a path."""
    if path is not None:
        target = Path(path)
        if target.suffix.lower() not in (".html", ".htm") or target.is_dir():
            raise OptionError(f"Expected the name of an .html file for the report; got {str(path)!r}.")
        return target
    if place is None:
        raise OptionError(
            "These results lie in no folder, so the report needs a file: hc.report(results, 'report.html')."
        )
    return place.pages / f"report{suffix}.html"
