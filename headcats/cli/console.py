"""How the command line talks: results on stdout, everything else on stderr."""

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
