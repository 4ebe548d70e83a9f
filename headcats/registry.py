"""Name -> item, one table for every kind of thing that can be added: tasks, suites, methods, metrics, rules, figures.

Items register themselves through the decorator of their kind (`hc.task`, `hc.metrics.metric`, `hc.rules.rule`,
`hc.methods.causal_method`, `hc.figures.figure`). The modules that hold the built-in items of a kind, and those that
installed third-party packages name in the entry-point group `headcats.<kind>`, are imported at the first look-up of
that kind.
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

# Named as text: the registry stands below these modules and imports none of them by itself.
_BUILT_IN: dict[str, str] = {
    "task": "headcats.tasks",
    "suite": "headcats.tasks",
    "template": "headcats.prompts",
    "metric": "headcats.metrics",
    "method": "headcats.methods",
    "rule": "headcats.rules",
    "figure": "headcats.figures",
    "preset": "headcats.presets",
}

_tables: dict[str, dict[str, Any]] = {kind: {} for kind in get_args(Kind)}


def register(kind: Kind, name: str, item: Any) -> Any:
    """Store `item` under `name`; registering the same name again replaces it (as re-running a notebook cell does).

    Raises:
        DataError: See `check_name`.
    """
    check_name(kind, name)
    _tables[kind][name] = item
    return item


def check_name(kind: Kind, name: str) -> None:
    """Refuse a name that could not be a node of results, part of a file name, or a word on the command line.

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
        UnknownNameError: the message lists near matches and every known name.
    """
    table = _table(kind)
    if name in table:
        return table[name]
    raise UnknownNameError(unknown_name_message(kind, name, table))


def names(kind: Kind) -> list[str]:
    """All registered names of a kind, in the order of registration."""
    return list(_table(kind))


def unknown_name_message(kind: str, name: str, known: Any) -> str:
    """The sentence for a name nobody knows: near matches first, then the whole list.

    Args:
        kind: What it should be, as in "task of suite 'icl'" or "option in study.toml": Unknown task 'x' of suite 'icl'.
        name: What came.
        known: What there is.
    """
    known = [str(k) for k in known]
    what, where = re.fullmatch(r"(.+?)((?: (?:of|in) .+)?)", kind, flags=re.DOTALL).groups()  # type: ignore[union-attr]
    near = difflib.get_close_matches(str(name), known, n=3, cutoff=0.5)
    hint = f" Did you mean {' or '.join(repr(n) for n in near)}?" if near else ""
    listing = ", ".join(known) if known else "none is registered"
    return f"Unknown {what} {name!r}{where}.{hint} Known: {listing}."


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


def preset_of(method: str, given: str | T, presets: Mapping[str, T]) -> T:
    """The settings that the preset of a method stands for; settings themselves come back unchanged.

    Args:
        method: Name of the method, for the message.
        given: Name of a preset, or settings.
        presets: Name -> settings, at least one.

    Raises:
        UnknownNameError: No such preset; the message lists near matches.
    """
    if isinstance(given, type(next(iter(presets.values())))):
        return given
    if not isinstance(given, str) or given not in presets:
        raise UnknownNameError(unknown_name_message(f"preset of {method}", str(given), presets))
    return presets[given]
