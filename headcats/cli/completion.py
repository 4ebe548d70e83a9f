"""What a shell offers after a tab: names, and results folders; loads no torch."""

import ast
import contextlib
import importlib.metadata
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from headcats.base.errors import HeadcatsError
from headcats.base.registry import Kind, names
from headcats.study.options import StudyOptions
from headcats.tasks.suites import suite as find_suite
from headcats.tasks.suites import suite_defaults

# As the registry takes them -> as they are written after `headcats list`.
KINDS: dict[str, Kind] = {
    "tasks": "task",
    "suites": "suite",
    "methods": "method",
    "rules": "rule",
    "metrics": "metric",
    "figures": "figure",
    "presets": "preset",
}
_MANIFEST = "manifest.json"
_PACKAGE = Path(__file__).parents[1]


def one_of(*words: str) -> Callable[[str], list[str]]:
    """Completion of an option that takes one of a few words."""
    return lambda incomplete: _starting(words, incomplete)


def _registered(kind: Kind) -> Callable[[str], list[str]]:
    """Completion of an option that takes the name of a registered item."""
    return lambda incomplete: _starting(names(kind), incomplete)


kinds = one_of(*KINDS)
suites, presets, rules = _registered("suite"), _registered("preset"), _registered("rule")
figures, templates, method = _registered("figure"), _registered("template"), _registered("method")


def models(incomplete: str) -> list[str]:
    """Models that can do the tasks of a suite."""
    usual: list[str] = []
    for suite in names("suite"):
        with contextlib.suppress(HeadcatsError):  # its own code fails
            usual.append(suite_defaults(suite).get("model", ""))
    return _starting(filter(None, dict.fromkeys(usual)), incomplete)


def tasks(ctx: Any, incomplete: str) -> list[str]:
    """Tasks of the suite that is named before, separated by commas."""
    suite = ctx.params.get("suite") or ctx.params.get("of_suite") or StudyOptions.suite
    suite_tasks: list[str] = []
    if suite in names("suite"):  # pressing Tab runs no file of somebody's, and fetches nothing
        with contextlib.suppress(HeadcatsError):  # its own code fails
            suite_tasks = [task.name for task in find_suite(suite).tasks]
    return _last_of(suite_tasks, incomplete)


def methods(incomplete: str) -> list[str]:
    """Names of methods, separated by commas."""
    return _last_of(names("method"), incomplete)


def metrics(incomplete: str) -> list[str]:
    """Names of metrics, separated by commas."""
    return _last_of(metric_names(), incomplete)


def results_folders(incomplete: str) -> list[str]:
    """Results folders below what is written, and folders that may lead to some."""
    before, start = os.path.split(incomplete)
    folders = []
    for entry in _folders(before or os.curdir):
        if not entry.name.startswith(start):
            continue
        path = os.path.join(before, entry.name)
        if _is_results(entry):
            folders.append(path)
            continue
        below = list(_folders(entry))
        inside = [os.path.join(path, child.name) for child in below if _is_results(child)]
        folders += inside or ([os.path.join(path, "")] if below else [])
    return folders


def metric_names() -> list[str]:
    """Every metric; those of headcats are read off its files, since importing them would load torch."""
    files = [ast.parse(path.read_text(encoding="utf-8")) for path in sorted((_PACKAGE / "metrics").glob("[a-z]*.py"))]
    functions = [node for file in files for node in file.body if isinstance(node, ast.FunctionDef)]
    bundled = [node.name for node in functions if "metric" in map(_decorator, node.decorator_list)]
    return [*bundled, *(point.name for point in importlib.metadata.entry_points(group="headcats.metric"))]


def _starting(words: Iterable[str], incomplete: str) -> list[str]:
    return [word for word in words if word.startswith(incomplete)]


def _last_of(words: Iterable[str], incomplete: str) -> list[str]:
    """The last of several names; those before stay."""
    *before, last = incomplete.split(",")
    start = "".join(f"{name}," for name in before)
    return [start + word for word in words if word.startswith(last) and word not in before]


def _folders(path: str | os.PathLike[str]) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(path) as entries:
            folders = [entry for entry in entries if entry.is_dir() and not entry.name.startswith(".")]
    except OSError:
        return
    yield from sorted(folders, key=lambda entry: entry.name)


def _is_results(entry: os.DirEntry[str]) -> bool:
    return os.path.isfile(os.path.join(entry.path, _MANIFEST))


def _decorator(node: ast.expr) -> str:
    called = node.func if isinstance(node, ast.Call) else node
    return called.id if isinstance(called, ast.Name) else ""
