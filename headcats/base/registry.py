"""Registered items by kind and name: tasks, suites, categories of files, methods, metrics, rules, ...

Items register themselves through the decorator of their kind (`hc.task`, `hc.metrics.metric`, `hc.rules.rule`,
`hc.methods.causal_method`, `hc.figures.figure`). Built-in items of a kind, and those of installed packages with the
entry-point group `headcats.<kind>`, are imported at the first look-up of that kind.
"""

import ast
import difflib
import functools
import importlib
import importlib.metadata
import importlib.util
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from headcats.base.errors import LONGEST_NAME, DataError, UnknownNameError, unknown_name_message, unstorable
from headcats.base.guard import Guard

Kind = Literal["task", "suite", "method", "metric", "rule", "figure", "model", "template", "preset", "file_category"]

# As text: the registry is below these modules in the import order.
_BUILT_IN: dict[str, tuple[str, ...]] = {
    "task": ("headcats.tasks",),
    "suite": ("headcats.tasks.suites",),
    "template": ("headcats.prompts.template",),
    "model": ("headcats.models.loading",),
    "metric": ("headcats.metrics",),
    "method": ("headcats.methods",),
    "rule": ("headcats.rules",),
    "figure": ("headcats.figures",),
}


@dataclass(frozen=True)
class _Deferred:
    """An item that is imported at its first look-up, from `package.module:name`."""

    path: str


_tables: dict[str, dict[str, Any]] = {kind: {} for kind in get_args(Kind)}


def register(kind: Kind, name: str, item: Any) -> Any:
    """Store `item` under `name`, replacing an item of that name (as when a notebook cell is run again)."""
    check_name(kind, name)
    _tables[kind][name] = item
    return item


def register_later(kind: Kind, name: str, path: str) -> None:
    """Register an item that is imported at its first look-up."""
    register(kind, name, _Deferred(path))


def check_name(kind: Kind, name: object) -> None:
    """Refuse a name that cannot be a node of results, part of a file name or a word on the command line."""
    if (
        not isinstance(name, str)
        or not name
        or any(c in name for c in "/\\:@,\t\n ")
        or name.startswith((".", "-", "_"))
    ):
        raise DataError(
            f"A {kind} needs a name of letters, digits, '_', '-' and '.', not starting with '.', '-' "
            f"or '_'; got {name!r}."
        )
    if problem := unstorable(name, most=LONGEST_NAME):
        raise DataError(f"A {kind} needs a name that results can hold; got {name!r:.80}, {problem}.")


def lookup(kind: Kind, name: str) -> Any:
    """The item of that name."""
    table = _table(kind)
    if name in table:
        if isinstance(table[name], _Deferred):
            path = table[name].path
            table[name] = Guard(kind.capitalize(), name, path)(pkgutil.resolve_name, path)
        return table[name]
    raise UnknownNameError(unknown_name_message(kind, name, table))


def names(kind: Kind) -> list[str]:
    """All registered names of a kind, in the order of registration."""
    return list(_table(kind))


def _table(kind: Kind) -> dict[str, Any]:
    if kind not in _tables:
        raise UnknownNameError(unknown_name_message("kind", kind, _tables))
    _import_items(kind)
    return _tables[kind]


@functools.cache
def _import_items(kind: str) -> None:
    for module in _BUILT_IN.get(kind, ()):
        importlib.import_module(module)
    for point in importlib.metadata.entry_points(group=f"headcats.{kind}"):
        Guard(f"Entry point of headcats.{kind}", point.name, point.value)(point.load)


def bind_items(kind: Kind, namespace: dict[str, Any]) -> list[str]:
    """Import every module of a package, and bind the registered items that its namespace lacks; returns their names."""
    for module in pkgutil.iter_modules(namespace["__path__"]):
        importlib.import_module(f"{namespace['__name__']}.{module.name}")
    lacking = [name for name in names(kind) if name not in namespace]
    namespace.update({name: lookup(kind, name) for name in lacking})
    return lacking


def public_names(package: str, stub: str) -> tuple[Callable[[str], Any], list[str], Callable[[], list[str]]]:
    """`__getattr__`, `__all__` and `__dir__` of a package, by its `__init__.pyi`; names are imported at first use."""
    homes: dict[str, str] = {}
    for node in ast.parse(Path(stub).with_suffix(".pyi").read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom):
            module = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
            mark = ":" if node.module else "."  # `from . import x` names a module
            homes |= {alias.name: f"{module}{mark}{alias.name}" for alias in node.names}

    def get(name: str) -> Any:
        if name not in homes:
            near = difflib.get_close_matches(name, homes, n=3)
            hint = f". Did you mean {' or '.join(map(repr, near))}?" if near and not name.startswith("_") else ""
            raise AttributeError(f"module {package!r} has no attribute {name!r}{hint}")
        return pkgutil.resolve_name(homes[name])

    shown = sorted(homes)
    return get, shown, lambda: shown
