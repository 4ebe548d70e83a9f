"""Options of the commands, made from the fields of `headcats.study.options`."""

import functools
import inspect
from collections.abc import Callable
from dataclasses import Field
from typing import Annotated, Any

import typer

from headcats.cli import completion
from headcats.results.options import Stage
from headcats.study.options import fields_until, kind_of, unset_text, words_of

_COMPLETIONS: dict[str, Callable[..., list[str]]] = {
    "model": completion.models,
    "suite": completion.suites,
    "tasks": completion.tasks,
    "methods": completion.methods,
    "metrics": completion.metrics,
    "template": completion.templates,
}


def command_option(of: "Field[Any]") -> Any:
    """Return the type of a parameter of a command, as typer reads it; its value is None where it is not given."""
    kind, default = kind_of(of), unset_text(of)
    text = of.metadata["help"] + ", separated by commas" * (kind is list) + f"; default: {default}" * bool(default)
    flags = of.metadata["flags"] or (f"--{of.name.replace('_', '-')}",)
    complete = _COMPLETIONS.get(of.name) or (completion.one_of(*words_of(of)) if words_of(of) else None)
    option = typer.Option(*flags, help=f"{text}. {of.metadata['command']}".rstrip(), autocompletion=complete)
    return Annotated[(str if kind is list else kind) | None, option]


def takes_fields(*kinds: type, until: Stage = "run") -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the fields of classes of options; it gets those that are given as its first argument, by name."""
    taken = [each for kind in kinds for each in fields_until(kind, until)]

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(command)
        def of_fields(**arguments: Any) -> None:
            given = {each.name: _read(each, arguments.pop(each.name)) for each in taken if each.name in arguments}
            command({name: value for name, value in given.items() if value is not None}, **arguments)

        _, *own = inspect.signature(command).parameters.values()
        keyword = inspect.Parameter.KEYWORD_ONLY
        made = [inspect.Parameter(each.name, keyword, default=None, annotation=command_option(each)) for each in taken]
        of_fields.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [*made, *(each.replace(kind=keyword) for each in own)]
        )
        return of_fields

    return decorate


def split_names(text: str) -> list[str]:
    """Names split at spaces and commas; a comma between two options of one method is not a split."""
    names: list[str] = []
    for word in text.replace(",", " ").split():
        if names and "=" in word and ":" not in word:
            names[-1] += f",{word}"
        else:
            names.append(word)
    return names


def _read(of: "Field[Any]", value: Any) -> Any:
    if kind_of(of) is bool:
        return of.metadata["flag_sets"] if value else None
    if value is None or kind_of(of) is not list:
        return value
    # The path of a folder, which a revision may be, may hold spaces.
    return [name.strip() for name in value.split(",") if name.strip()] if of.name == "revisions" else split_names(value)
