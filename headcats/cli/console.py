"""Output of commands: tables, sentences and prompts on stdout; notes and errors on stderr."""

import itertools
import re
import sys
import textwrap
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Literal

from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.table import Table as RichTable
from rich.text import Text

from headcats.base.errors import ExtensionError, pluralize
from headcats.base.guard import own_traceback
from headcats.results.declaration import registered
from headcats.results.finding import Finding, Prompts, Table, first_names
from headcats.results.label import Label
from headcats.results.run_results import RunResults
from headcats.results.visible import visible

PIPE_WIDTH = 140
"""Wide enough for the tables: a file or a pipe has no width of its own."""
PROMPT_LINES = 3
"""Lines that are shown of a prompt: those at its end."""
_SEPARATOR = 3  # columns of the terminal between two of a table: a line and a space on both sides
_BETWEEN, _CONTINUES, _SAME_CHARACTER, _COMBINES_WITH = "│", "⇒", "⋯", "◌"
_TOKEN_COLOURS = ("cyan", "yellow")
_HIDDEN_NOTE = 24
_KEPT_SPACE = "\ufdd2"  # which Unicode reserves for the inside of programs

out = Console(highlight=False, emoji=False)
err = Console(stderr=True, highlight=False, emoji=False)
if not out.is_terminal:
    out = Console(highlight=False, emoji=False, width=PIPE_WIDTH)


def explain(error: Exception) -> None:
    """Print an error as one message; below that of somebody else's code, the traceback of that code."""
    err.print(_text(f"Error: {error}", err, starts="bold red"), soft_wrap=True)
    if isinstance(error, ExtensionError) and (lines := own_traceback(error)):
        err.print(_text(f"\n{lines.rstrip()}", err), soft_wrap=True)


def warn(message: str) -> None:
    """Print something the reader should know."""
    err.print(_text(f"Note: {message}", err, starts="yellow"), soft_wrap=True)


def note_control(*methods: str) -> None:
    """Warn before the map of a control."""
    for name in (Label.parse(method).name for method in methods):
        if (declaration := registered(name)).control_of:
            warn(f"{name} is a control: {declaration.caution}")


def note_unfinished(run: RunResults) -> None:
    """Warn where a run was stopped before it had come to every task."""
    if left := run.manifest.unfinished():
        done = len(run.manifest.tasks)
        warn(
            f"This run is not finished: it has {done} of {done + len(left)} tasks (not {first_names(left, 3)}). Repeat "
            "the same `headcats run` to continue it."
        )


def tell(findings: Iterable[Finding | str]) -> None:
    """Print findings: tables and sentences on stdout, a blank line before what is new; notes on stderr."""
    for finding in findings:
        if isinstance(finding, Table | Prompts):
            if finding.title:
                out.print()
                put_line(finding.title, style="italic")
            if isinstance(finding, Table):
                put_table(finding)
            else:
                _put_prompts(finding)
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
    """Print a sentence, its commands in bold; `whole` parts stay on one line, and `words` have a style each."""
    shown = _text(text, out, whole=whole)
    for word, style_of_word in words.items():
        shown.highlight_regex(rf"(?<!\w){re.escape(word)}(?!\w)", style_of_word)
    out.print(shown, style=style, soft_wrap=True)


def _text(text: str, console: Console, *, whole: Sequence[str] = (), starts: str = "") -> Text:
    """Text on the lines of a console, commands in bold and what comes before the first colon in the style `starts`."""
    text = visible(text, keep="\n")
    # A pipe has no width: what reads it finds a message on one line.
    lines = wrapped(text, console.width, whole=whole) if console.is_terminal or console is out else text.split("\n")
    shown = Text("\n".join(lines))
    shown.highlight_regex("`[^`]+`", "bold")
    if starts:
        shown.stylize(starts, 0, text.index(":") + 1)
    return shown


def wrapped(text: str, width: int, *, whole: Sequence[str] = ()) -> list[str]:
    """Break a text into lines at spaces, never inside a word, a `whole` part, or a command in backticks."""
    for piece in [*whole, *re.findall("`[^`\n]+`", text)]:
        text = text.replace(piece, piece.replace(" ", _KEPT_SPACE))
    wrapper = textwrap.TextWrapper(width, break_long_words=False, break_on_hyphens=False)
    lines = [line for paragraph in text.split("\n") for line in wrapper.wrap(paragraph) or [""]]
    return [line.replace(_KEPT_SPACE, " ") for line in lines]


def put_table(finding: Table) -> None:
    """Print a table without its title, numbers flush right; where lines are too narrow, cells are folded."""
    columns = [list(map(visible, column)) for column in zip(finding.columns, *finding.rows, strict=True)]
    shown = RichTable(show_edge=False, pad_edge=False)
    for name, column, width in zip(finding.columns, columns, _widths(columns), strict=True):
        justify: Literal["right", "left"] = "right" if name in finding.numeric else "left"
        shown.add_column(escape(column[0]), justify=justify, overflow="fold", width=width)
    styles = {visible(text): f"bold {colour}" for text, colour in finding.colours.items()}
    for cells in list(zip(*columns, strict=True))[1:]:
        shown.add_row(*(Text(text, styles.get(text, "")) for text in cells))
    out.print(shown)


def _widths(columns: Sequence[Sequence[str]]) -> list[int] | list[None]:
    """Widths in which no word is folded, the widest columns giving way; none, if that takes more than a line has."""
    widths = [max(map(cell_len, column)) for column in columns]
    least = [max(cell_len(word) for text in column for word in ["", *text.split()]) for column in columns]
    room = out.width - _SEPARATOR * (len(columns) - 1)
    if sum(least) > room:
        return [None] * len(columns)
    for _ in range(sum(widths) - room):
        widths[max(range(len(columns)), key=lambda place: (widths[place] - least[place], widths[place]))] -= 1
    return widths


def _put_prompts(finding: Prompts) -> None:
    """Print the ends of prompts, as many tokens of each: in two colours, and with separators that say the same."""
    names = [f"  {name}" for name in finding.prompts]
    prompts = [[list(map(_shown, tokens)) for tokens in prompt] for prompt in finding.prompts.values()]
    line_width = out.width - 1 - max(map(len, names))
    n_shown = min(_fitting(*prompt, room=PROMPT_LINES * line_width - _HIDDEN_NOTE) for prompt in prompts)
    grid = RichTable.grid(padding=(0, 1))
    for name, (prompt, continuation) in zip(names, prompts, strict=True):
        hidden = max(len(prompt) - n_shown, 0)
        text = Text(overflow="fold")
        if hidden:
            text.append(f"({pluralize(hidden, 'token')} before) ", "dim")
        for place, token in enumerate([*prompt, *continuation][hidden:], start=hidden):
            if place:
                text.append(*((_CONTINUES, "bold") if place == len(prompt) else (_BETWEEN, "dim")))
            text.append(token, _TOKEN_COLOURS[place % 2] + " bold reverse" * (place == len(prompt) - 1))
        grid.add_row(Text(name, "bold", no_wrap=True), text)
    out.print(grid)


def _fitting(prompt: Sequence[str], continuation: Sequence[str], *, room: int) -> int:
    """Number of tokens at the end of a prompt that fit; where all do, more than any prompt has."""
    used = itertools.accumulate(cell_len(token) + 1 for token in [*continuation, *reversed(prompt)])
    n = sum(width <= room for width in used) - len(continuation)
    return max(n, 1) if n < len(prompt) else sys.maxsize


def _shown(token: str) -> str:
    if not token:
        return _SAME_CHARACTER
    combines = unicodedata.category(token[0]).startswith("M")
    return visible(f"{_COMBINES_WITH}{token}" if combines else token)
