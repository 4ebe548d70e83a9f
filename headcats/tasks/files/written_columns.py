"""Columns as they are written down: in suite.toml and layouts.toml, in Python, and behind the source of a suite."""

import os
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, quote

from headcats.base.errors import DataError, unknown_name_message
from headcats.base.registry import names
from headcats.tasks.files.columns import ROLES, Columns

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
    taken = [name for role, name in roles.items() if isinstance(name, str) and role not in values.get("patterns", {})]
    if twice := next((name for name in taken if taken.count(name) > 1 and "{" not in name), ""):
        both = " and ".join(role for role, name in roles.items() if name == twice)
        raise DataError(f"{place}: the column {twice!r:.60} is {both}; name a column of its own for each.")
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
        try:
            groups = re.compile(pattern).groups
        except re.error as error:
            raise DataError(f"{place}: the pattern of {role!r:.40} is no regular expression ({error}).") from None
        if role not in ROLES or groups != 1:
            raise DataError(
                f"{place}: expected a pattern with one group for a role; got {role!r:.40} = {pattern!r:.60}."
            )


def written_source(source: Any, columns: Any) -> str:
    """The source of a suite with its columns behind it, `pairs.csv?input=a&answer=b`.

    `columns`: role -> column, or texts `role=column`.
    """
    if not isinstance(source, str | os.PathLike) or source in names("suite"):
        raise DataError(f"Columns are those of a file; got the suite {source!r:.60}.")
    if not isinstance(columns, Mapping):
        pairs = [str(each).partition("=")[::2] for each in ([columns] if isinstance(columns, str) else columns)]
        if wrong := next((f"{role}={name}" for role, name in pairs if not name), ""):
            raise DataError(f"Expected columns as input=NAME,answer=NAME; got {wrong!r:.60}.")
        if len(dict(pairs)) < len(pairs):
            raise DataError(f"Columns name a role twice: {', '.join(f'{role}={name}' for role, name in pairs):.200}.")
        columns = dict(pairs)
    chosen = read_columns(columns, place="columns")
    if chosen.patterns or chosen.words:
        raise DataError("patterns and words of columns go into a suite.toml beside the file.")
    texts = {role: of if isinstance(of, str) else "+".join(of) for role, of in chosen.roles.items()}
    return f"{os.fspath(source)}?{'&'.join(f'{role}={quote(of)}' for role, of in texts.items())}"


def split_source(source: str) -> tuple[str, Columns]:
    """A source and the columns behind it, empty without any."""
    path, mark, query = source.rpartition("?")
    pairs = parse_qsl(query.replace("+", "%2B"), keep_blank_values=True)
    if not mark or not pairs or not all(role in ROLES for role, _ in pairs):
        return source, Columns()
    of_list = {role: of.split("+") if "+" in of and role in ("answer", "options") else of for role, of in pairs}
    return path, read_columns(of_list, place="columns")
