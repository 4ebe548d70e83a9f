"""The commands by name; what one needs is imported when it is called, not what all of them need."""

import importlib
from collections.abc import Callable, Iterator, MutableMapping
from typing import Any

import typer
from typer.core import TyperGroup

from headcats.cli.console import stoppable

_ENDINGS: dict[str, str | None] = {
    "run": None,
    "validate": "",
    "plan": "",
    "map": "",
    "report": "",
    "figure": "",
    "compare": "",
    "diff": "",
    "evidence": "; the same command starts again from zero",
    "views": "",
    "merge": "",
    "export": "",
    "push": "; the same command starts again",
    "list": "",
}
"""Command -> what follows "Stopped before the end", or None for one that says itself what it leaves."""


def callback(name: str) -> Callable[..., None]:
    """The function behind a command: `NAME_command` of its module."""
    function: Callable[..., None] = getattr(importlib.import_module(f"headcats.cli.{name}"), f"{name}_command")
    more = _ENDINGS[name]
    return function if more is None else stoppable(function, more)


class _OnDemand(MutableMapping[str, Any]):
    """Name -> command, which is made when it is looked up."""

    def __init__(self) -> None:
        self._made: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            if name not in _ENDINGS:
                raise KeyError(name)
            single = typer.Typer(rich_markup_mode="markdown", add_completion=False, pretty_exceptions_enable=False)
            single.command(name)(callback(name))
            self._made[name] = typer.main.get_command(single)
        return self._made[name]

    def __contains__(self, name: object) -> bool:
        return name in _ENDINGS

    def __iter__(self) -> Iterator[str]:
        return iter(_ENDINGS)

    def __len__(self) -> int:
        return len(_ENDINGS)

    def __setitem__(self, name: str, command: Any) -> None:
        self._made[name] = command

    def __delitem__(self, name: str) -> None:
        raise TypeError("Commands are not removed.")


class Commands(TyperGroup):
    """A group whose commands are imported on demand."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings | {"commands": _OnDemand()})

    def list_commands(self, ctx: Any) -> list[str]:
        """The names, in the order of the help."""
        return list(self.commands)
