"""What a shell offers after a tab: names, and results folders. Nothing of this loads torch."""

import ast
import importlib.metadata
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headcats.errors import StorageError
from headcats.registry import Kind, names
from headcats.study.defaults import DEFAULTS, OF_SUITE

if TYPE_CHECKING:
    from headcats.results.manifest import Manifest

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

    def offered(incomplete: str) -> list[str]:
        return _starting(words, incomplete)

    return offered


def kinds(incomplete: str) -> list[str]:
    """What `headcats list` lists."""
    return _starting(KINDS, incomplete)


def suites(incomplete: str) -> list[str]:
    """Names of suites."""
    return _starting(names("suite"), incomplete)


def presets(incomplete: str) -> list[str]:
    """Names of presets."""
    return _starting(names("preset"), incomplete)


def rules(incomplete: str) -> list[str]:
    """Names of rules."""
    return _starting(names("rule"), incomplete)


def figures(incomplete: str) -> list[str]:
    """Names of figures."""
    return _starting(names("figure"), incomplete)


def templates(incomplete: str) -> list[str]:
    """Names of templates."""
    return _starting(names("template"), incomplete)


def models(incomplete: str) -> list[str]:
    """Names of the bundled models."""
    return _starting(dict.fromkeys(str(one["model"]) for one in OF_SUITE.values()), incomplete)


def tasks(ctx: Any, incomplete: str) -> list[str]:
    """Tasks of the suite that is named before, separated by commas."""
    from headcats.tasks.suites import suite

    wanted = ctx.params.get("suite") or ctx.params.get("of_suite") or DEFAULTS["suite"]
    return _listed((task.name for task in suite(wanted).tasks) if wanted in names("suite") else (), incomplete)


def methods(incomplete: str) -> list[str]:
    """Names of methods, separated by commas."""
    return _listed(names("method"), incomplete)


def metrics(incomplete: str) -> list[str]:
    """Names of metrics, separated by commas."""
    return _listed(metric_names(), incomplete)


def methods_of_results(ctx: Any, incomplete: str) -> list[str]:
    """Methods that the results folder named before holds; every method where none is named."""
    labels = dict.fromkeys(label for manifest in _manifests(ctx) for label in manifest.methods)
    return _starting(labels or names("method"), incomplete)


def metrics_of_results(ctx: Any, incomplete: str) -> list[str]:
    """Metrics that the results folder named before holds; every metric where none is named."""
    metrics = dict.fromkeys(metric for manifest in _manifests(ctx) for metric in manifest.plan.metrics)
    return _starting(metrics or metric_names(), incomplete)


def results_folders(incomplete: str) -> list[str]:
    """Results folders below what is written, and folders that may lead to some."""
    before, start = os.path.split(incomplete)
    found = []
    for entry in _folders(before or os.curdir):
        if not entry.name.startswith(start):
            continue
        path = os.path.join(before, entry.name)
        if _is_results(entry):
            found.append(path)
            continue
        below = list(_folders(entry))
        inside = [os.path.join(path, one.name) for one in below if _is_results(one)]
        found += inside or ([os.path.join(path, "")] if below else [])
    return found


def metric_names() -> list[str]:
    """Every metric; those of headcats are read off its files, since importing them would load torch."""
    nodes = (node for path in sorted((_PACKAGE / "metrics").glob("[a-z]*.py")) for node in _nodes(path))
    functions = (node for node in nodes if isinstance(node, ast.FunctionDef))
    own = [node.name for node in functions if "metric" in map(_decorator, node.decorator_list)]
    return [*own, *_of_other_packages("metric")]


def _starting(known: Iterable[str], incomplete: str) -> list[str]:
    return [name for name in known if name.startswith(incomplete)]


def _listed(known: Iterable[str], incomplete: str) -> list[str]:
    """The last of several names; those before stay."""
    *given, last = incomplete.split(",")
    before = "".join(f"{name}," for name in given)
    return [before + name for name in known if name.startswith(last) and name not in given]


def _manifests(ctx: Any) -> Iterator["Manifest"]:
    from headcats.results.manifest import Manifest

    # An option without its value, which is what is being written, leaves arguments unread.
    for folder in filter(None, [*(ctx.params.get("folders") or ()), ctx.params.get("folder"), *ctx.args]):
        try:
            yield Manifest.from_json((Path(folder) / _MANIFEST).read_text(encoding="utf-8"))
        except (OSError, ValueError, StorageError):
            continue


def _folders(path: str | os.PathLike[str]) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(path) as entries:
            yield from sorted(
                (one for one in entries if one.is_dir() and not one.name.startswith(".")), key=lambda one: one.name
            )
    except OSError:
        return


def _is_results(entry: os.DirEntry[str]) -> bool:
    return os.path.isfile(os.path.join(entry.path, _MANIFEST))


def _of_other_packages(kind: str) -> list[str]:
    return [point.name for point in importlib.metadata.entry_points(group=f"headcats.{kind}")]


def _nodes(path: Path) -> list[ast.stmt]:
    return ast.parse(path.read_text(encoding="utf-8")).body


def _decorator(node: ast.expr) -> str:
    called = node.func if isinstance(node, ast.Call) else node
    return called.id if isinstance(called, ast.Name) else ""
