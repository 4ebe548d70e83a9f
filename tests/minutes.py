"""Where the minutes of a test run go: `pytest --minutes` prints CPU seconds by kind, of all processes together.

Seconds of a process and of the ones that it waited for; on a busy machine they say more than those of a clock.
"""

import contextlib
import functools
import os
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

KINDS = {
    "start": "Python, pytest and its plugins",
    "import": "importing the modules of the tests",
    "collection": "collecting items",
    "models": "building models",
    "browser": "looking at pages in Chromium",
    "simulation": "simulated results and toys with known truth",
    "subprocesses": "other processes",
    "fixtures": "fixtures",
    "tests": "the tests themselves",
    "pytest": "pytest itself, between the phases of an item",
}
_SIMULATIONS = {"simulated", "simulated_series", "specific", "function_worlds"}
"""Modules beside this one; what takes anything from them counts as simulation with all its tests."""
_spent: Counter[str] = Counter()


def _cpu() -> tuple[float, float]:
    """CPU seconds of this process, and of those that it waited for."""
    now = os.times()
    return now.user + now.system, now.children_user + now.children_system


@contextlib.contextmanager
def _counted(kind: str, *, of: str | None = None) -> Iterator[None]:
    """Count what happens within as one kind, and take it off another."""
    before = sum(_cpu())
    try:
        yield
    finally:
        spent = sum(_cpu()) - before
        _spent[kind] += spent
        if of is not None:
            _spent[of] -= spent


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--minutes", action="store_true", help="print where the CPU seconds went, by kind")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    _spent["start"] = sum(_cpu())
    with _counted("collection"):
        return (yield)


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module:
    return _Module.from_parent(parent, path=module_path)


class _Module(pytest.Module):
    """Imported once, where pytest tells what goes wrong: a second time, what failed would pass for an empty module."""

    def _getobj(self) -> Any:
        with _counted("import", of="collection"):
            return super()._getobj()


def _count_models() -> None:
    """Count the building of models from here on; until something imports the bridge there are none."""
    bridge = sys.modules.get("transformer_lens.model_bridge")
    if bridge is None or hasattr(bridge.TransformerBridge, "is_counted"):
        return
    boot = bridge.TransformerBridge.boot_transformers

    @functools.wraps(boot)
    def counted(*args: Any, **options: Any) -> Any:
        with _counted("models", of=_running[-1] if _running else None):
            return boot(*args, **options)

    bridge.TransformerBridge.boot_transformers = staticmethod(counted)
    bridge.TransformerBridge.is_counted = True


_running: list[str] = []
"""The kind of the phase that runs, at the end."""


def _phase(item: pytest.Item, kind: str) -> Iterator[None]:
    _count_models()
    is_browser = "browser" in getattr(item, "fixturenames", ())
    _running.append("browser" if is_browser else kind)
    before = _cpu()
    try:
        return (yield)
    finally:
        own, others = (after - earlier for after, earlier in zip(_cpu(), before, strict=True))
        _spent[_running[-1]] += own
        _spent["browser" if is_browser else "subprocesses"] += others
        _spent["items"] += kind != "fixtures"
        _running.pop()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Iterator[None]:
    return (yield from _phase(item, "fixtures"))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    uses = {getattr(value, "__module__", None) for value in vars(item.module).values()}  # type: ignore[attr-defined]
    return (yield from _phase(item, "simulation" if uses & _SIMULATIONS else "tests"))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    return (yield from _phase(item, "fixtures"))


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--minutes"):
        config.pluginmanager.register(_Table(), "minutes-table")


class _Table:
    """Of this process, or of those of `pytest -n` together."""

    def __init__(self) -> None:
        self.processes: list[dict[str, float]] = []

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        if hasattr(node, "workeroutput"):  # one that died has none
            self.processes.append(node.workeroutput["minutes"])

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        named = sum(_spent[kind] for kind in KINDS)
        spent = dict(_spent) | {"pytest": sum(_cpu()) - named}
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput["minutes"] = spent
        elif not self.processes:
            self.processes.append(spent)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        total: Counter[str] = Counter()
        for process in self.processes:
            total.update(process)
        n_items = max(1, int(total["items"]))
        terminalreporter.section(f"CPU seconds, {len(self.processes)} process{'es' * (len(self.processes) > 1)}")
        for kind, meaning in KINDS.items():
            terminalreporter.write_line(f"{total[kind]:8.1f}  {kind:<12}  {meaning}")
        terminalreporter.write_line(f"{sum(total[kind] for kind in KINDS):8.1f}  in all, {n_items} items")
