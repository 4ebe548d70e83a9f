"""Registered items by kind and name: tasks, suites, methods, metrics, rules, figures, models, templates, presets.

Items register themselves through the decorator of their kind (`hc.task`, `hc.metrics.metric`, `hc.rules.rule`,
`hc.methods.causal_method`, `hc.figures.figure`). Built-in items of a kind, and those of installed packages with the
entry-point group `headcats.<kind>`, are imported at the first look-up of that kind.
"""

import difflib
import functools
import importlib
import importlib.metadata
import re
from collections.abc import Mapping
from typing import Any, Literal, TypeVar, get_args

from headcats.errors import DataError, UnknownNameError

T = TypeVar("T")
Kind = Literal["task", "suite", "method", "metric", "rule", "figure", "model", "template", "preset"]

# As text: the registry is below these modules in the import order.
_BUILT_IN: dict[str, str] = {
    "task": "headcats.tasks",
    "suite": "headcats.tasks",
    "template": "headcats.prompts",
    "metric": "headcats.metrics",
    "method": "headcats.methods",
    "rule": "headcats.rules",
    "figure": "headcats.figures",
    "preset": "headcats.methods",
}

_tables: dict[str, dict[str, Any]] = {kind: {} for kind in get_args(Kind)}


def register(kind: Kind, name: str, item: Any) -> Any:
    """Store `item` under `name`, replacing an item of that name (as when a notebook cell is run again).

    Raises:
        DataError: See `check_name`.
    """
    check_name(kind, name)
    _tables[kind][name] = item
    return item


def check_name(kind: Kind, name: str) -> None:
    """Refuse a name that cannot be a node of results, part of a file name or a word on the command line.

    Raises:
        DataError: `name` is empty, starts with '.', '-' or '_', or holds a slash, space, ':', '@' or ','.
    """
    if not name or any(c in name for c in "/\\:@,\t\n ") or name.startswith((".", "-", "_")):
        raise DataError(
            f"A {kind} needs a name of letters, digits, '_', '-' and '.', not starting with '.', '-' "
            f"or '_'; got {name!r}."
        )


def lookup(kind: Kind, name: str) -> Any:
    """The item of that name.

    Raises:
        UnknownNameError: The message lists near matches and all names.
    """
    table = _table(kind)
    if name in table:
        return table[name]
    raise UnknownNameError(unknown_name_message(kind, name, table))


def names(kind: Kind) -> list[str]:
    """All registered names of a kind, in the order of registration."""
    return list(_table(kind))


def unknown_name_message(kind: str, name: str, candidates: Any) -> str:
    """Message for an unknown name: near matches, then all candidates.

    Args:
        kind: Kind of name, such as "task of suite 'icl'" or "option in study.toml": Unknown task 'x' of suite 'icl'.
        name: The unknown name.
        candidates: The existing names.
    """
    candidates = list(map(str, candidates))
    noun, place = re.fullmatch(r"(.+?)((?: (?:of|in) .+)?)", kind, flags=re.DOTALL).groups()  # type: ignore[union-attr]
    near = difflib.get_close_matches(str(name), candidates, n=3, cutoff=0.5)
    hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
    return f"Unknown {noun} {name!r}{place}.{hint} Known: {', '.join(candidates) or 'none is registered'}."


def _table(kind: Kind) -> dict[str, Any]:
    if kind not in _tables:
        raise UnknownNameError(unknown_name_message("kind", kind, _tables))
    _import_items(kind)
    return _tables[kind]


@functools.cache
def _import_items(kind: str) -> None:
    if kind in _BUILT_IN:
        importlib.import_module(_BUILT_IN[kind])
    for point in importlib.metadata.entry_points(group=f"headcats.{kind}"):
        point.load()


def preset_of(method: str, preset: str | T, presets: Mapping[str, T]) -> T:
    """The settings of a preset of a method; settings themselves are returned unchanged.

    Args:
        method: Name of the method, for the message.
        preset: Name of a preset, or settings.
        presets: Name -> settings, at least one.

    Raises:
        UnknownNameError: No such preset; the message lists near matches.
    """
    if isinstance(preset, type(next(iter(presets.values())))):
        return preset
    if not isinstance(preset, str) or preset not in presets:
        raise UnknownNameError(unknown_name_message(f"preset of {method}", str(preset), presets))
    return presets[preset]
