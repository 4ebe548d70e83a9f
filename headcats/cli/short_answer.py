"""The short answer of a command on a terminal: fifteen lines, whatever the categories are called and how many."""

import itertools
from collections.abc import Sequence
from dataclasses import replace

from headcats.cli import console
from headcats.cli.table_layout import BETWEEN, longest_piece
from headcats.cli.wrapping import height, shortened, wrapped
from headcats.reports.text.short import Short
from headcats.results.finding import Finding, Table, line
from headcats.results.visible import visible

MOST_LINES = 15
_MOST_WARNINGS, _LONGEST_NAME, _LEAST_ROWS = 3, 24, 3
_NAMED = (12, 8, 6, 4, 3, 2, 1)


def put_short(short: Short, closing: Sequence[str]) -> None:
    """Print verdict, table, warnings and files in 15 lines; `closing` names files before the next command.

    Warnings beyond three are counted. Where fifteen lines are not enough, first the blank line goes, then rows of the
    table, warnings, and sentences behind the first; all of it is counted or among the details.
    """
    width = console.out.width
    table = None if short.table is None else _table(short, width)
    n_rows = 0 if table is None else len(table.rows)
    choices = itertools.product(
        range(len(short.verdict), 0, -1),
        range(min(_MOST_WARNINGS, len(short.warnings)), -1, -1),
        sorted({n_rows, *range(min(_LEAST_ROWS, n_rows), n_rows)}, reverse=True),
        ("\n", ""),
    )
    shown: list[str | Table] = []
    heights: dict[str | int, int] = {}

    def taken(part: str | Table) -> int:
        key = part if isinstance(part, str) else len(part.rows)
        if key not in heights:
            heights[key] = _height(part, width, closing)
        return heights[key]

    for n_sentences, n_warnings, n_rows, blank in choices:
        shown = _parts(short, table, closing, n_sentences, n_warnings, n_rows, blank)
        if sum(map(taken, shown)) <= MOST_LINES:
            break
    styles = {_short_name(name): f"bold {colour}" for name, colour in short.colours.items()}
    for part in shown:
        if isinstance(part, Table):
            console.put_table(part, cells="whole")
        else:
            console.put_line(part, whole=closing, words=styles)


def _parts(
    short: Short,
    table: Table | None,
    closing: Sequence[str],
    n_sentences: int,
    n_warnings: int,
    n_rows: int,
    blank: str,
) -> list[str | Table]:
    parts: list[str | Table] = [_joined(short.verdict[:n_sentences], short) + blank * (table is not None)]
    if table is not None:
        parts.append(replace(table, rows=_first_rows(table.rows, n_rows)))
        if n_rows < len(table.rows):
            parts.append(str(line("short.more_categories", n=len(table.rows) - n_rows)))
    parts += [_joined([finding], short) for finding in short.below]
    parts += [f"! {_joined([finding], short)}" for finding in short.warnings[:n_warnings]]
    n_left = len(short.warnings) - n_warnings
    more = line("short.more_warnings", n=n_left) if n_left else None
    following = [str(line("short.next", command=short.next_command))] if short.next_command else []
    parts.append("  ".join([*closing, *following, str(line("short.details", more=more, command=short.details))]))
    return parts


def _first_rows(rows: tuple[tuple[str, ...], ...], n: int) -> tuple[tuple[str, ...], ...]:
    """The first rows, those with heads before those without any in all their columns, in their order."""
    places = sorted(range(len(rows)), key=lambda place: not {*rows[place][1:]} - {"none", "-", "0"})[:n]
    return tuple(rows[place] for place in sorted(places))


def _table(short: Short, width: int) -> Table:
    """With as many names in its cells as there is room for on one line."""
    assert short.table is not None
    for most in _NAMED:
        table = short.table(most)
        named = replace(
            table,
            rows=tuple((_short_name(row[0]), *row[1:]) for row in table.rows),
            colours={_short_name(name): colour for name, colour in table.colours.items()},
        )
        columns = zip(named.columns, *named.rows, strict=True)
        if sum(longest_piece(texts, cells="whole") + BETWEEN for texts in columns) - BETWEEN <= width:
            break
    return named


def _joined(findings: Sequence[Finding], short: Short) -> str:
    text = visible(" ".join(map(str, findings)))
    for name in sorted(short.colours, key=len, reverse=True):
        text = text.replace(visible(name), _short_name(name))
    return text


def _short_name(name: str) -> str:
    return shortened(visible(name), _LONGEST_NAME)


def _height(part: str | Table, width: int, whole: Sequence[str]) -> int:
    if isinstance(part, str):
        return sum(height(line, width) for line in wrapped(part, width, whole=whole))
    with console.out.capture() as captured:
        console.put_table(part, cells="whole")
    return captured.get().count("\n")
