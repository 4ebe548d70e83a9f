"""What results say: findings with an identifier and fields, tables and prompts. `str` of a finding is its sentence.

Sentences are templates in `wording.toml` beside it, one for each identifier.
"""

import functools
import string
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any, Literal

import numpy as np
import xarray as xr

from headcats.base.errors import pluralize

Place = Literal["line", "item", "paragraph", "note"]
OWN_BACKTICK, NO_LINK = "\ufdd0", "\ufdd1"
"""Characters that Unicode reserves for the inside of programs."""


@dataclass(frozen=True)
class Finding:
    """A statement, as data.

    Attributes:
        id: Names its template in `wording.toml`, such as "map.chance".
        fields: What the template takes: numbers, names, or findings of their own.
        place: A "line" goes on with what is before it, an "item" is one of a list, a "paragraph" begins something new,
            and a "note" should be known before the rest (the command line prints it on stderr).
    """

    id: str
    fields: Mapping[str, Any] = field(default_factory=dict)
    place: Place = "line"

    def __str__(self) -> str:
        """One line of plain text; commands and names in it stand in backticks."""
        return self.marked().replace(OWN_BACKTICK, "`").replace(NO_LINK, "")

    def marked(self) -> str:
        """Text for a page that reads the marks: backticks of a name are `OWN_BACKTICK`, its `](` has `NO_LINK`."""
        return _FORMATTER.vformat(templates()[self.id], (), self.fields)

    @property
    def title(self) -> str:
        """The sentence, where it stands above what the finding shows."""
        return str(self)


@dataclass(frozen=True, kw_only=True)
class Table(Finding):
    """Texts in rows and columns; the sentence is its title, "" where the line before is the title.

    Several `columns` may be headed ""; `numeric` ones are flush right. `colours`: text of a cell -> `#rrggbb`.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: frozenset[str] = frozenset()
    colours: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Prompts(Finding):
    """Name -> texts of the tokens of a prompt, and of those that continue it; the sentence is their title."""

    prompts: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]]


def line(id: str, /, **fields: Any) -> Finding:
    """A finding that goes on with what is before it."""
    return Finding(id, fields)


def item(id: str, /, **fields: Any) -> Finding:
    """A finding of a list."""
    return Finding(id, fields, "item")


def paragraph(id: str, /, **fields: Any) -> Finding:
    """A finding that begins something new."""
    return Finding(id, fields, "paragraph")


def note(id: str, /, **fields: Any) -> Finding:
    """A finding to know before the rest."""
    return Finding(id, fields, "note")


def table(
    id: str, /, columns: Iterable[str], rows: Iterable[Sequence[str]], *, numeric: Iterable[str] = (), **fields: Any
) -> Table:
    """A table of lists; `fields` are those of its title."""
    held = tuple(map(tuple, rows))
    return Table(id, fields, columns=tuple(columns), rows=held, numeric=frozenset(numeric))


@functools.cache
def templates() -> dict[str, str]:
    """Identifier, such as "map.chance" -> template with named fields."""
    groups = tomllib.loads(files("headcats").joinpath("results/wording.toml").read_text(encoding="utf-8"))
    return {f"{group}.{name}": text for group, part in groups.items() for name, text in part.items()}


def by_category(results: xr.Dataset) -> Iterator[tuple[str, xr.Dataset]]:
    """Every category with its part of a dataset."""
    for name in results["category"].values.tolist():
        yield name, results.sel(category=name)


def number_text(value: Any, digits: int = 2) -> str:
    """A number with so many decimals; "-" where there is none (None, NaN)."""
    return "-" if value is None or not np.isfinite(float(value)) else f"{float(value):z.{digits}f}"


def share_text(value: float) -> str:
    """A share of the gap: two decimals, three where two would leave nothing."""
    return number_text(value, 2 if round(abs(value), 3) >= 0.1 else 3)


def interval_text(low: Any, high: Any, digits: int = 2) -> str:
    """An interval with so many decimals; "-" where there is none."""
    texts = [number_text(end, digits) for end in (low, high)]
    return "-" if "-" in texts else " to ".join(texts)


def with_interval(cell: xr.Dataset, name: str) -> str:
    """A number of a dataset with its interval in parentheses; the number alone where there is none."""
    number, interval = number_text(cell[name]), interval_text(cell.get(f"{name}_low"), cell.get(f"{name}_high"))
    return number if "-" in (number, interval) else f"{number} ({interval})"


def first_names(names: Sequence[str], n: int, separator: str = ", ") -> str:
    """The first `n` names, and how many more there are."""
    more = f" and {len(names) - n} more" if len(names) > n else ""
    return f"{separator.join(names[:n])}{more}"


class _Formatter(string.Formatter):
    """`{names:first 8}`, `{names:and}`, `{names:series}` ("a, b and c"), `{n:count head}`, `{n:plural was|were}`,
    `{effect:number 2}`, `{effect:share}`; `{reason:sentence}` of text that marks commands with backticks itself.

    None is empty; `{more: }` puts a space before what is there.
    """

    def format_field(self, value: Any, format_spec: str) -> str:
        spec, _, argument = format_spec.partition(" ")
        if value is None:
            return ""
        if spec == "sentence":
            parts = value if isinstance(value, list | tuple) else [value]
            return ", ".join(part.marked() if isinstance(part, Finding) else _without_marks(part) for part in parts)
        if spec == "count":
            return pluralize(value, *argument.split("|"))
        if spec == "plural":
            n = value if isinstance(value, int) else len(value)
            return argument.split("|")[n != 1]
        if spec == "number":
            return number_text(value, int(argument or 2))
        if spec == "share":
            return share_text(value)
        if isinstance(value, list | tuple):
            texts = list(map(_marked, value))
            if spec == "first":
                return first_names(texts, int(argument))
            if spec == "series":
                return " and ".join(filter(None, [", ".join(texts[:-1]), texts[-1]]))
            return {"": ", ", "and": " and ", "or": " or ", "semicolon": "; "}[spec].join(texts)
        if format_spec in ("", " "):
            return f"{format_spec}{_marked(value)}"
        return str(format(value, format_spec))


def _marked(value: Any) -> str:
    """The text of what may be a finding, or a name whose backticks are no marks."""
    if isinstance(value, Finding):
        return value.marked()
    return _without_marks(value).replace("`", OWN_BACKTICK).replace("](", f"]{NO_LINK}(")


def _without_marks(value: Any) -> str:
    """Text in which the characters that stand for marks are escaped."""
    return str(value).replace(OWN_BACKTICK, r"\ufdd0").replace(NO_LINK, r"\ufdd1")


_FORMATTER = _Formatter()


@dataclass(frozen=True)
class Short:
    """An answer that fits on a screen; `table` takes how many names a cell may hold."""

    verdict: tuple[Finding, ...]
    table: Callable[[int], Table] | None
    below: tuple[Finding, ...]
    warnings: tuple[Finding, ...]
    next_command: str = ""
    colours: Mapping[str, str] = field(default_factory=dict)
    details: str = "--details"
