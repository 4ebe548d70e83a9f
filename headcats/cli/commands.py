"""The commands by name: imported when they are called, and stopped by Ctrl-C or SIGTERM with one line.

Installed packages bring more by the entry-point group `headcats.command`: a name -> a function as typer takes it,
whose attribute `ending`, if it has one, follows "Stopped before the end".
"""

import contextlib
import functools
import importlib
import importlib.metadata
import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any

import typer
from typer.core import TyperGroup

from headcats.base.guard import Guard
from headcats.cli.console import warn

_NAMES = (
    "run", "validate", "plan", "map", "report", "figure", "compare", "evidence", "merge", "export", "push", "list",
)  # fmt: skip
_OF_PACKAGES = {point.name: point for point in importlib.metadata.entry_points(group="headcats.command")}
_ENDINGS: dict[str, str | None] = {
    "run": None,
    "evidence": "; the same command goes on from what it has measured",
    "push": "; the same command starts again",
}
"""Command -> what follows "Stopped before the end", or None for one that says itself what it leaves."""


class Commands(TyperGroup):
    """A group whose commands are imported on demand: what one needs, not what all of them need."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings | {"commands": dict.fromkeys((*_NAMES, *_OF_PACKAGES))})

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command, made when it is looked up; None for an unknown name."""
        if cmd_name in self.commands and self.commands[cmd_name] is None:
            single = typer.Typer(rich_markup_mode="markdown", add_completion=False, pretty_exceptions_enable=False)
            single.command(cmd_name)(callback(cmd_name))
            self.commands[cmd_name] = typer.main.get_command(single)
        return self.commands.get(cmd_name)


def callback(name: str) -> Callable[..., None]:
    """The function behind a command: `NAME_command` of its module, or that of a package."""
    if name in _NAMES:
        command: Callable[..., None] = getattr(importlib.import_module(f"headcats.cli.{name}"), f"{name}_command")
    else:
        command = Guard("Command", name, _OF_PACKAGES[name].value)(_OF_PACKAGES[name].load)
    more = _ENDINGS.get(name, getattr(command, "ending", ""))
    if more is None:
        return command

    @functools.wraps(command)
    def until_stopped(*arguments: Any, **options: Any) -> None:
        with stopping(lambda: f"Stopped before the end{more}."):
            command(*arguments, **options)

    return until_stopped


class Terminated(KeyboardInterrupt):
    """The process was asked to end (SIGTERM): it stops as after Ctrl-C."""


@contextlib.contextmanager
def ending_on_request() -> Iterator[None]:
    """Let SIGTERM stop a command as Ctrl-C does, with what is finished saved; only the main thread can ask."""
    # A process that was started to ignore it goes on so, and a handler that Python cannot put back (None) stays.
    before = signal.getsignal(signal.SIGTERM)
    if threading.current_thread() is not threading.main_thread() or before in (signal.SIG_IGN, None):
        yield
        return
    signal.signal(signal.SIGTERM, _terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _terminate(number: int, frame: Any) -> None:
    raise Terminated


@contextlib.contextmanager
def stopping(message: Callable[[], str]) -> Iterator[None]:
    """Ctrl-C or SIGTERM within is one line, made when it happens, and exit code 130 or 143."""
    try:
        yield
    except KeyboardInterrupt as stop:
        warn(message())
        raise typer.Exit(143 if isinstance(stop, Terminated) else 130) from None
