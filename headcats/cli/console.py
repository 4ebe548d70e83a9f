"""How the command line talks: results on stdout, everything else on stderr."""

import functools
from collections.abc import Callable
from typing import Any

import typer
from rich.console import Console
from rich.table import Table

# Wide enough for the tables when nobody watches: a file or a pipe has no width of its own.
PIPE_WIDTH = 140

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)
if not out.is_terminal:
    out = Console(highlight=False, width=PIPE_WIDTH)


def explain(error: Exception) -> None:
    """An error as one message."""
    err.print(f"[bold red]Error:[/] {_escaped(str(error))}", soft_wrap=True)


def warn(message: str) -> None:
    """Something the reader should know."""
    err.print(f"[yellow]Note:[/] {_escaped(message)}", soft_wrap=True)


def stoppable(command: Callable[..., None], more: str = "") -> Callable[..., None]:
    """A command that writes at its end alone: Ctrl-C is one line and exit code 130."""

    @functools.wraps(command)
    def stopping(*arguments: Any, **options: Any) -> None:
        try:
            command(*arguments, **options)
        except KeyboardInterrupt:
            warn(f"Stopped; nothing was written{more}.")
            raise typer.Exit(130) from None

    return stopping


def table(title: str, columns: list[str], rows: list[list[str]], *, numeric: frozenset[str] = frozenset()) -> Table:
    """A plain table; columns named in `numeric` are flush right."""
    made = Table(title=title, title_justify="left", show_edge=False, pad_edge=False)
    for column in columns:
        made.add_column(column, justify="right" if column in numeric else "left", overflow="fold")
    for row in rows:
        made.add_row(*map(_escaped, row))
    return made


def _escaped(text: str) -> str:
    return text.replace("[", r"\[")
