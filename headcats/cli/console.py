"""How the command line talks: results on stdout, everything else on stderr."""

import contextlib
import functools
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import typer
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from headcats.reports.text.finding import Finding, Table

# Wide enough for the tables when nobody watches: a file or a pipe has no width of its own.
PIPE_WIDTH = 140
_BEFORE = {"paragraph": "\n", "item": "- "}
_BETWEEN = 3  # columns of a table: a line and a space on both sides

out = Console(highlight=False, emoji=False)
err = Console(stderr=True, highlight=False, emoji=False)
if not out.is_terminal:
    out = Console(highlight=False, emoji=False, width=PIPE_WIDTH)


def explain(error: Exception) -> None:
    """An error as one message."""
    err.print(f"[bold red]Error:[/] {_escaped(str(error))}", soft_wrap=True)


def warn(message: str) -> None:
    """Something the reader should know."""
    err.print(f"[yellow]Note:[/] {_escaped(message)}", soft_wrap=True)


class Terminated(KeyboardInterrupt):
    """The process was asked to end (SIGTERM): it stops as after Ctrl-C."""


@contextlib.contextmanager
def ending_on_request() -> Iterator[None]:
    """Within, SIGTERM stops a command as Ctrl-C does, with what is finished saved; only the main thread can ask.

    A process that was started to ignore SIGTERM goes on ignoring it, and a handler that was not set from Python, which
    could not be put back (None), stays.
    """
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
def stopping(told: Callable[[], str]) -> Iterator[None]:
    """Ctrl-C or SIGTERM within is one line, and exit code 130 or 143.

    Args:
        told: What to say; asked when it happens.
    """
    try:
        yield
    except KeyboardInterrupt as stop:
        warn(told())
        raise typer.Exit(143 if isinstance(stop, Terminated) else 130) from None


def stoppable(command: Callable[..., None], more: str = "") -> Callable[..., None]:
    """A command that writes at its end alone: Ctrl-C or SIGTERM is one line."""

    @functools.wraps(command)
    def until_stopped(*arguments: Any, **options: Any) -> None:
        with stopping(lambda: f"Stopped before its end{more}."):
            command(*arguments, **options)

    return until_stopped


def tell(findings: Iterable[Finding | str]) -> None:
    """Findings as text: tables and sentences on stdout, a blank line before what is new; notes on stderr.

    Args:
        findings: What to say; a generator is told while it goes on.
    """
    for finding in findings:
        if isinstance(finding, Table):
            if finding.title:
                out.print(f"\n{finding.title}", style="italic", markup=False)
            out.print(drawn(finding))
        elif not isinstance(finding, str) and finding.place == "note":
            warn(str(finding))
        else:
            before = "" if isinstance(finding, str) else _BEFORE.get(finding.place, "")
            said = Text(f"{before}{finding}")
            said.highlight_regex("`[^`]+`", "bold")
            out.print(said)


def drawn(finding: Table) -> RichTable:
    """A plain table without its title; numeric columns are flush right."""
    made = RichTable(show_edge=False, pad_edge=False)
    widths = _widths([list(texts) for texts in zip(finding.columns, *finding.rows, strict=True)], room=out.width)
    for column, width in zip(finding.columns, widths, strict=True):
        made.add_column(
            _escaped(column), justify="right" if column in finding.numeric else "left", overflow="fold", width=width
        )
    for row in finding.rows:
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
