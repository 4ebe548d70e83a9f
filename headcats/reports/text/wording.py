"""Sentences from templates: `wording.toml` holds one for each identifier of a finding."""

import functools
import string
import tomllib
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

import numpy as np

from headcats.errors import pluralize


@functools.cache
def templates() -> dict[str, str]:
    """Identifier, such as "map.chance" -> template with named fields."""
    text = files("headcats.reports.text").joinpath("wording.toml").read_text(encoding="utf-8")
    return {
        f"{group}.{name}": template for group, part in tomllib.loads(text).items() for name, template in part.items()
    }


def sentence(id: str, fields: Mapping[str, Any]) -> str:
    """The template of `id` with its fields filled in."""
    return _FORMATTER.vformat(templates()[id], (), fields)


def number_text(value: Any, digits: int = 2) -> str:
    """A number with so many decimals; "-" where there is none."""
    return "-" if np.isnan(float(value)) else f"{float(value):z.{digits}f}"


def interval_text(low: Any, high: Any, digits: int = 2) -> str:
    """An interval with so many decimals; "-" where there is none."""
    return f"{number_text(low, digits)} to {number_text(high, digits)}" if np.isfinite(float(low)) else "-"


def first_names(names: Sequence[str], n: int, separator: str = ", ") -> str:
    """The first `n` names, and how many more there are."""
    more = f" and {len(names) - n} more" if len(names) > n else ""
    return f"{separator.join(names[:n])}{more}"


class _Formatter(string.Formatter):
    """`{names:first 8}`, `{names:and}`, `{n:count head}`, `{n:plural was|were}`, `{effect:number 2}`.

    None is empty; `{more: }` puts a space before what is there.
    """

    def format_field(self, value: Any, format_spec: str) -> str:
        spec, _, argument = format_spec.partition(" ")
        if value is None:
            return ""
        if format_spec == " ":
            return f" {value}"
        if spec == "count":
            return pluralize(value, *argument.split("|"))
        if spec == "plural":
            n = value if isinstance(value, int) else len(value)
            return argument.split("|")[n != 1]
        if spec == "number":
            return number_text(value, int(argument or 2))
        if isinstance(value, list | tuple):
            if spec == "first":
                return first_names(value, int(argument))
            return {"": ", ", "and": " and ", "or": " or ", "semicolon": "; "}[spec].join(map(str, value))
        return str(format(value, format_spec)) if format_spec else str(value)


_FORMATTER = _Formatter()
