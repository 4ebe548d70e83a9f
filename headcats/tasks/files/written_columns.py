"""Columns as they are written down: in suite.toml and layouts.toml, in Python, and behind the source of a suite."""

import itertools
import os
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, unquote

from headcats.base.errors import DataError, unknown_name_message
from headcats.base.registry import names
from headcats.tasks.files.columns import ROLES, Columns
from headcats.tasks.files.records import meaning

_OTHERS = ("patterns", "words")
_PARTNERS = {"input": "answer", "clean": "answer", "good": "bad"}


def read_columns(values: Any, *, place: str, layout: str = "") -> Columns:
    """Roles with their columns, and `patterns` and `words`; a DataError that names the place for anything else."""
    if not isinstance(values, Mapping) or not values:
        raise DataError(f'{place}: expected columns as {{input = "...", answer = "..."}}; got {values!r:.80}.')
    roles: dict[str, str | tuple[str, ...]] = {}
    for key, value in values.items():
        if key in _OTHERS:
            _check_others(key, value, place)
            continue
        if key not in ROLES:
            raise DataError(f"{place}: {unknown_name_message('role of a column', key, [*ROLES, *_OTHERS])}")
        several = key in ("answer", "options") and isinstance(value, list) and bool(value)
        if not all(isinstance(each, str) and each.strip() for each in (value if several else [value])):
            raise DataError(f"{place}: expected the name of a column for {key!r}; got {value!r:.60}.")
        roles[key] = tuple(value) if several else value
    single = [role for role, of in roles.items() if isinstance(of, str) and role not in values.get("patterns", {})]
    for first, second in itertools.combinations(single, 2):
        if meaning(roles[first]) == meaning(roles[second]) and "{" not in roles[first]:
            raise DataError(
                f"{place}: the column {roles[first]!r:.60} is {first} and {second}; name a column of its own for each."
            )
    partners = [partner for role, partner in _PARTNERS.items() if role in roles]
    if len(partners) != 1 or not {*partners, "options"} & roles.keys():
        got = ", ".join(roles) or "none"
        raise DataError(
            f"{place}: expected one of input (a word or question) and clean (a whole prompt), with answer or options; "
            f"or good and bad (two sentences); got {got}."
        )
    return Columns(roles, values.get("patterns", {}), values.get("words", {}), layout)


def _check_others(key: str, value: Any, place: str) -> None:
    if not isinstance(value, Mapping) or not all(isinstance(each, str) for each in value.values()):
        raise DataError(f"{place}: expected {key!r} as a table of texts; got {value!r:.60}.")
    for role, pattern in value.items() if key == "patterns" else ():
        if role not in ROLES or check_pattern(role, pattern, place) != 1:
            raise DataError(
                f"{place}: expected a pattern with one group for a role; got {role!r:.40} = {pattern!r:.60}."
            )


def check_pattern(name: str, pattern: Any, place: str) -> int:
    """Number of groups of a pattern; a DataError for no regular expression."""
    try:
        return re.compile(pattern).groups
    except (re.error, TypeError) as error:
        raise DataError(f"{place}: the pattern of {name!r:.40} is no regular expression ({error}).") from None


def written_source(source: Any, columns: Any) -> str:
    """The source of a suite with its columns behind it, `pairs.csv?input=a&answer=b`.

    `columns`: role -> column, or texts `role=column`.
    """
    if not isinstance(source, str | os.PathLike) or source in names("suite"):
        raise DataError(f"Columns are those of a file; got the suite {source!r:.60}.")
    if not isinstance(columns, Mapping):
        if not isinstance(columns, str | list | tuple):
            raise DataError(f"Expected columns as input=NAME,answer=NAME or a mapping; got {columns!r:.60}.")
        listed = columns.split(",") if isinstance(columns, str) else columns
        pairs = [str(each).partition("=")[::2] for each in listed]
        if not all(name for _, name in pairs):
            raise DataError(f"Expected columns as input=NAME,answer=NAME; got {columns!r:.60}.")
        if len(dict(pairs)) < len(pairs):
            raise DataError(f"Columns name a role twice: {', '.join(f'{role}={name}' for role, name in pairs):.200}.")
        columns = dict(pairs)
    chosen = read_columns(columns, place="columns")
    if chosen.patterns or chosen.words:
        raise DataError("patterns and words of columns go into a suite.toml beside the file.")
    texts = {role: [of] if isinstance(of, str) else of for role, of in chosen.roles.items()}
    query = (f"{role}={'+'.join(quote(name, safe='') for name in of)}" for role, of in texts.items())
    return f"{os.fspath(source)}?{'&'.join(query)}"


def split_source(source: str) -> tuple[str, Columns]:
    """A source and the columns behind it, empty without any."""
    path, mark, query = source.rpartition("?")
    pairs = [each.partition("=") for each in query.split("&")]
    if not mark or not all(role in ROLES and of for role, _, of in pairs):
        return source, Columns()
    names = {role: [unquote(name) for name in of.split("+")] for role, _, of in pairs}
    return path, read_columns({role: of if len(of) > 1 else of[0] for role, of in names.items()}, place="columns")
