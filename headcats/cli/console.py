"""How the command line talks: results on stdout, everything else on stderr."""

import functools
from collections.abc import Callable
from typing import Any

import typer
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table

# Wide enough for the tables when nobody watches: a file or a pipe has no width of its own.
PIPE_WIDTH = 140
_BETWEEN = 3  # columns of a table: a line and a space on both sides

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
            warn(f"Stopped before its end{more}.")
            raise typer.Exit(130) from None

    return stopping


def table(title: str, columns: list[str], rows: list[list[str]], *, numeric: frozenset[str] = frozenset()) -> Table:
    """A plain table; columns named in `numeric` are flush right."""
    made = Table(title=title, title_justify="left", show_edge=False, pad_edge=False)
    widths = _widths([list(texts) for texts in zip(columns, *rows, strict=True)], room=out.width)
    for column, width in zip(columns, widths, strict=True):
        made.add_column(
            _escaped(column), justify="right" if column in numeric else "left", overflow="fold", width=width
        )
    for row in rows:
        made.add_row(*map(_escaped, row))
    return made


def _widths(columns: list[list[str]], *, room: int) -> list[int | None]:
    """Widths of columns so that a narrow terminal folds between words, not within them; None where it cannot."""
    lines = [[line for text in texts for line in text.splitlines() or [""]] for texts in columns]
    widths = [max(map(cell_len, texts)) for texts in lines]
    least = [max((cell_len(word) for line in texts for word in line.split()), default=0) for texts in lines]
    over = sum(widths) + _BETWEEN * (len(columns) - 1) - room
    if over <= 0 or over > sum(widths) - sum(least):
        return [None] * len(columns)
    for _ in range(over):
        widest = max(range(len(columns)), key=lambda place: (widths[place] - least[place], widths[place]))
        widths[widest] -= 1
    return list(widths)


def _escaped(text: str) -> str:
    return text.replace("[", r"\[")
