"""Options of the commands, made from the fields of `headcats.study.options`."""

import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer

from headcats.results.options import Option, Stage, options_of
from headcats.study.options import unset_text


def command_option(of: Option) -> Any:
    """Return the type of a parameter of a command, as typer reads it; its value is None where it is not given."""
    default, text = unset_text(of), of.text.split(". ")[0].removesuffix(".")
    text += ", separated by commas" * (of.kind is list) + f"; default: {default}" * bool(default)
    flags = of.flags or (f"--{of.name.replace('_', '-')}",)
    written = typer.Option(*flags, help=f"{text}. {of.command}".rstrip())
    return Annotated[(str if of.kind is list else of.kind) | None, written]


def takes_fields(*kinds: type, until: Stage = "run") -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the fields of classes of options; it gets those that are given as its first argument, by name."""
    taken = [each for kind in kinds for each in options_of(kind, until)]

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


def _read(of: Option, value: Any) -> Any:
    if of.kind is bool:
        return of.flag_sets if value else None
    if value is None or of.kind is not list:
        return value
    # The path of a folder, which a revision may be, may hold spaces.
    return [name.strip() for name in value.split(",") if name.strip()] if of.name == "revisions" else split_names(value)
