"""Answers of the command line: tables, sentences or JSON on stdout; notes and errors on stderr."""

import contextlib
import functools
import re
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table as RichTable
from rich.text import Text

from headcats.base.errors import ExtensionError
from headcats.base.guard import own_traceback
from headcats.cli.table_layout import Cells, Layout, fitted
from headcats.cli.token_lines import token_lines
from headcats.cli.wrapping import wrapped
from headcats.results.declaration import registered
from headcats.results.finding import Finding, Prompts, Table, line
from headcats.results.label import Label
from headcats.results.run_results import RunResults
from headcats.results.visible import visible

# Wide enough for the tables when nobody watches: a file or a pipe has no width of its own.
PIPE_WIDTH = 140

out = Console(highlight=False, emoji=False)
err = Console(stderr=True, highlight=False, emoji=False)
if not out.is_terminal:
    out = Console(highlight=False, emoji=False, width=PIPE_WIDTH)


def explain(error: Exception) -> None:
    """Print an error as one message; below that of somebody else's code, the traceback of that code."""
    err.print(_text(f"Error: {_safe(str(error))}", err, starts="bold red"), soft_wrap=True)
    if isinstance(error, ExtensionError) and (lines := own_traceback(error)):
        err.print(f"\n{_safe(lines.rstrip())}", markup=False, soft_wrap=True)


def warn(message: str) -> None:
    """Print something the reader should know."""
    err.print(_text(f"Note: {_safe(message)}", err, starts="yellow"), soft_wrap=True)


def note_control(*methods: str) -> None:
    """Warn before the map of a control."""
    for name in (Label.parse(method).name for method in methods):
        if (declaration := registered(name)).control_of:
            warn(f"{name} is a control: {declaration.caution}")


def note_unfinished(run: RunResults) -> None:
    """Warn where a run was stopped before it had come to every task."""
    if left := run.manifest.unfinished():
        done = len(run.manifest.tasks)
        names = ", ".join(left[:3]) + (f" and {len(left) - 3} more" if len(left) > 3 else "")
        warn(
            f"This run is not finished: it has {done} of {done + len(left)} tasks (not {names}). Repeat the same "
            "`headcats run` to continue it."
        )


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


def stoppable(command: Callable[..., None], more: str = "") -> Callable[..., None]:
    """A command that writes at its end alone: Ctrl-C or SIGTERM is one line."""

    @functools.wraps(command)
    def until_stopped(*arguments: Any, **options: Any) -> None:
        with stopping(lambda: f"Stopped before the end{more}."):
            command(*arguments, **options)

    return until_stopped


def tell(findings: Iterable[Finding | str]) -> None:
    """Findings as text: tables and sentences on stdout, a blank line before what is new; notes on stderr.

    Control characters of names and data are shown as escapes.
    """
    for finding in findings:
        if isinstance(finding, Table | Prompts):
            if finding.title:
                out.print()
                put_line(finding.title, style="italic")
            if isinstance(finding, Table):
                put_table(finding)
            else:
                out.print(token_lines(finding, width=out.width))
        elif isinstance(finding, Finding) and finding.place == "note":
            warn(str(finding))
        else:
            if isinstance(finding, Finding) and finding.place == "paragraph":
                out.print()
            before = "- " if isinstance(finding, Finding) and finding.place == "item" else ""
            # A finding is one line, whatever the names in it.
            put_line(f"{before}{finding if isinstance(finding, str) else visible(str(finding))}")


def put_line(
    text: str, *, style: str = "", whole: Sequence[str] = (), words: Mapping[str, str] = MappingProxyType({})
) -> None:
    """A sentence on stdout, its commands in bold.

    Args:
        text: The sentence.
        style: Of all of it.
        whole: Parts that stay on one line, such as paths with spaces.
        words: Words, such as names of categories -> their style.
    """
    shown = _text(_safe(text), out, whole=whole)
    for word, style_of_word in words.items():
        shown.highlight_regex(rf"(?<!\w){re.escape(word)}(?!\w)", style_of_word)
    out.print(shown, style=style, soft_wrap=True)


def _text(text: str, console: Console, *, whole: Sequence[str] = (), starts: str = "") -> Text:
    """Text on the lines of a console, commands in bold and what comes before the first colon in the style `starts`."""
    # A pipe has no width: what reads it finds a message on one line.
    lines = wrapped(text, console.width, whole=whole) if console.is_terminal or console is out else text.split("\n")
    shown = Text("\n".join(lines))
    shown.highlight_regex("`[^`]+`", "bold")
    if starts:
        shown.stylize(starts, 0, text.index(":") + 1)
    return shown


def _safe(text: str) -> str:
    return visible(text, keep="\n")


def put_table(finding: Table, *, cells: Cells = "folded") -> None:
    """A plain table without its title; numeric columns are flush right. What has no room is named below it.

    `cells` as in `headcats.cli.table_layout.fitted`.
    """
    columns = [[visible(text) for text in column] for column in zip(finding.columns, *finding.rows, strict=True)]
    optional = [finding.columns.index(name) for name in finding.optional if name in finding.columns]
    layout = fitted(columns, room=out.width, optional=optional, cells=cells)
    styles = {visible(text): f"bold {colour}" for text, colour in finding.colours.items()}
    for number, block in enumerate(layout.blocks):
        if number:
            out.print()
        out.print(_rich_table(finding, layout, block, styles))
    for column in layout.constant:
        put_line(str(line("table.constant", column=finding.columns[column], value=finding.rows[0][column] or "-")))
    if layout.left_out:
        put_line(str(line("table.left_out", columns=[finding.columns[column] for column in layout.left_out])))


def _rich_table(
    finding: Table, layout: Layout, block: Sequence[tuple[int, int]], styles: Mapping[str, str]
) -> RichTable:
    table = RichTable(show_edge=False, pad_edge=False)
    for column, width in block:
        justify: Literal["right", "left"] = "right" if finding.columns[column] in finding.numeric else "left"
        table.add_column(escape(layout.texts[column][0]), justify=justify, overflow="fold", width=width)
    for row in range(1, len(finding.rows) + 1):
        texts = [layout.texts[column][row] for column, _ in block]
        table.add_row(*(Text(text, styles.get(text, "")) for text in texts))
    return table
