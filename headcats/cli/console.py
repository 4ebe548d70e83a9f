"""How the command line answers: tables, sentences or JSON on stdout; notes and errors on stderr."""

import contextlib
import functools
import json
import math
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import typer
import xarray as xr
from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.table import Table as RichTable
from rich.text import Text

from headcats.cli.token_lines import token_lines
from headcats.errors import ExtensionError
from headcats.guard import own_traceback
from headcats.results.declaration import registered
from headcats.results.finding import Finding, Prompts, Table, paragraph
from headcats.results.label import Label
from headcats.results.run_results import RunResults
from headcats.results.visible import visible
from headcats.results.whole_file import csv_bytes, write_whole

# Wide enough for the tables when nobody watches: a file or a pipe has no width of its own.
PIPE_WIDTH = 140
_BETWEEN = 3  # columns of a table: a line and a space on both sides
_BEFORE = {"paragraph": "\n", "item": "- "}

out = Console(highlight=False, emoji=False)
err = Console(stderr=True, highlight=False, emoji=False)
if not out.is_terminal:
    out = Console(highlight=False, emoji=False, width=PIPE_WIDTH)


def explain(error: Exception) -> None:
    """Print an error as one message; below that of somebody else's code, the traceback of that code."""
    err.print(f"[bold red]Error:[/] {escape(_safe(str(error)))}", soft_wrap=True)
    if isinstance(error, ExtensionError) and (lines := own_traceback(error)):
        err.print(f"\n{_safe(lines.rstrip())}", markup=False, soft_wrap=True)


def warn(message: str) -> None:
    """Print something the reader should know."""
    err.print(f"[yellow]Note:[/] {escape(_safe(message))}", soft_wrap=True)


def note_control(label: Label) -> None:
    """Warn before the map of a control."""
    declaration = registered(label.name)
    if declaration.control_of:
        warn(f"{label.name} is a control: {declaration.caution}")


def note_unfinished(run: RunResults) -> None:
    """Warn where a run was stopped before it had come to every task."""
    if left := run.manifest.unfinished():
        done = len(run.manifest.tasks)
        names = ", ".join(left[:3]) + (f" and {len(left) - 3} more" if len(left) > 3 else "")
        warn(
            f"This run is not finished: it has {done} of {done + len(left)} tasks (not {names}). Repeat the same "
            "`headcats run` to continue it."
        )


class Answer:
    """What a command says: printed as it comes, or collected and printed as one JSON value at the end."""

    def __init__(self, as_json: bool) -> None:
        self.as_json = as_json
        self.numbers: dict[str, Any] = {}
        """What JSON has beside `sentences`, the sentences, and `files`."""
        self._sentences: list[str] = []
        self._files: dict[str, Path | None] = {}

    def say(self, findings: Iterable[Finding | str]) -> None:
        """Findings as text; JSON keeps their sentences, since their tables are given as numbers."""
        if not self.as_json:
            tell(findings)
            return
        for finding in findings:
            if isinstance(finding, Finding) and finding.place == "note":
                warn(str(finding))
            elif not isinstance(finding, Table):
                self._sentences.append(str(finding))

    def wrote(self, name: str, path: Path | None, sentence: str = "") -> None:
        """A file that was written: its key in `files`, where it is (None: it could not be), and how text names it."""
        self._files[name] = path
        if sentence and not self.as_json:
            tell([paragraph("text.plain", text=sentence)])

    def write_table(self, name: str, table: pd.DataFrame, path: Path, sentence: str = "") -> None:
        """Write a table as CSV."""
        write_whole(path, csv_bytes(table))
        self.wrote(name, path, sentence)

    def end(self) -> None:
        """Print the JSON value; as text, everything is printed already."""
        if self.as_json:
            put({**self.numbers, "sentences": self._sentences, "files": self._files})


def put(content: Any) -> None:
    """Print one JSON value, in ASCII, which any terminal can show."""
    typer.echo(json.dumps(plain(content), indent=1, allow_nan=False))


def plain(value: Any) -> Any:
    """A value as JSON has it; NaN, infinities and missing values are None, a pandas table is a list of rows."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str | Path):
        return str(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    # A dataset is a mapping, too.
    if isinstance(value, xr.Dataset):
        return plain(value.to_dict())
    if isinstance(value, pd.DataFrame):
        return [plain(row) for row in value.to_dict("records")]
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if value is pd.NA:
        return None
    if isinstance(value, Iterable):
        return [plain(entry) for entry in value]
    raise TypeError(f"Expected numbers, texts, lists, mappings or tables; got a {type(value).__name__}.")


class Terminated(KeyboardInterrupt):
    """The process was asked to end (SIGTERM): it stops as after Ctrl-C."""


@contextlib.contextmanager
def ending_on_request() -> Iterator[None]:
    """Within, SIGTERM stops a command as Ctrl-C does, with what is finished saved; only the main thread can ask."""
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
                out.print(f"\n{visible(finding.title)}", style="italic", markup=False)
            out.print(_rich_table(finding) if isinstance(finding, Table) else token_lines(finding, width=out.width))
        elif not isinstance(finding, str) and finding.place == "note":
            warn(str(finding))
        else:
            before = "" if isinstance(finding, str) else _BEFORE.get(finding.place, "")
            # A finding is one line, whatever the names in it.
            sentence = Text(f"{before}{_safe(finding) if isinstance(finding, str) else visible(str(finding))}")
            sentence.highlight_regex("`[^`]+`", "bold")
            out.print(sentence)


def _safe(text: str) -> str:
    return visible(text, keep="\n")


def _rich_table(finding: Table) -> RichTable:
    """A plain table without its title; numeric columns are flush right."""
    table = RichTable(show_edge=False, pad_edge=False)
    header, *rows = ([visible(text) for text in row] for row in (finding.columns, *finding.rows))
    widths = _widths([list(texts) for texts in zip(header, *rows, strict=True)], room=out.width)
    for column, text, width in zip(finding.columns, header, widths, strict=True):
        table.add_column(
            escape(text), justify="right" if column in finding.numeric else "left", overflow="fold", width=width
        )
    for row in rows:
        table.add_row(*map(escape, row))
    return table


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
