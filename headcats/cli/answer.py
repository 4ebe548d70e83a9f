"""Answer of a command: in short, with all details, or as one JSON value."""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import typer
import xarray as xr

from headcats.cli import console
from headcats.cli.console import put_line, put_table, tell, warn
from headcats.results.finding import Finding, Short, Table, line, paragraph
from headcats.results.visible import shortened, visible
from headcats.results.whole_file import csv_bytes, write_whole

MOST_LINES = 15
"""Lines of a short answer."""
_LONGEST_NAME = 24


class Answer:
    """Output of a command: printed as it comes, or collected for the end, in short or as one JSON value.

    `details` None is of a command without a short answer; `numbers` are what JSON has beside sentences and files.
    """

    def __init__(self, as_json: bool, *, details: bool | None = None) -> None:
        self.as_json, self.details = as_json, details
        self.numbers: dict[str, Any] = {}
        self.short: Short | None = None
        self._sentences: list[str] = []
        self._files: dict[str, Path | None] = {}
        self._closing: list[str] = []
        self._printed: set[str] = set()

    def say(self, findings: Iterable[Finding | str]) -> None:
        """Findings as text; JSON keeps their sentences, since their tables are given as numbers."""
        if not self.as_json:
            findings = list(findings)
            tell(findings)
            self._printed |= set(map(str, findings))
            return
        for finding in findings:
            if isinstance(finding, Finding) and finding.place == "note":
                warn(str(finding))
            elif not isinstance(finding, Table):
                self._sentences.append(str(finding))

    def detail(self, findings: Iterable[Finding | str]) -> None:
        """Findings that a short answer leaves out."""
        if self.as_json or self.details is not False:
            self.say(findings)

    def wrote(self, name: str, path: Path | None, sentence: str = "", *, hint: str = "") -> None:
        """Note a file by its key in `files`, None if it could not be written; `hint` is printed among the details."""
        self._files[name] = path
        if sentence:
            self.close(sentence, hint=hint)

    def close(self, sentence: str, *, hint: str = "") -> None:
        """A sentence that closes a short answer; among the details, it comes now, with a hint behind it."""
        if self.as_json:
            return
        if self.short is not None and self.details is False:
            self._closing.append(sentence)
        else:
            tell([paragraph("text.plain", text=f"{sentence}{hint}")])

    def write_table(self, name: str, table: pd.DataFrame, path: Path, sentence: str = "") -> None:
        """Write a table as CSV."""
        write_whole(path, csv_bytes(table))
        self.wrote(name, path, sentence)

    def end(self) -> None:
        """Print the short answer, or its warnings below the details, or the JSON value."""
        if self.as_json:
            put({**self.numbers, "sentences": self._sentences, "files": self._files})
        elif self.short is not None and self.details is False:
            put_short(self.short, self._closing)
        elif self.short is not None:
            command = self.short.next_command
            following = [line("short.next", command=command)] if command else []
            further = [each for each in self.short.warnings if str(each) not in self._printed]
            tell([*(Finding(each.id, each.fields, "item") for each in further), *following])


def put_short(short: Short, closing: Sequence[str]) -> None:
    """Print verdict, table, warnings and files in 15 lines; `closing` names files before the next command."""
    for size in _sizes(short):
        with console.out.capture() as captured:
            _put_parts(short, closing, **size)
        if captured.get().count("\n") <= MOST_LINES:
            break
    _put_parts(short, closing, **size)


def _sizes(short: Short) -> Iterator[dict[str, int]]:
    """Sizes of an answer, each smaller than the one before: what is weightiest goes last."""
    rows = 0 if short.table is None else len(short.table(1).rows)
    warnings, sentences = min(3, len(short.warnings)), len(short.verdict)
    size = {"blank": 1, "names": 12, "rows": rows, "warnings": warnings, "sentences": sentences}
    yield size
    for part, smaller in (
        ("blank", [0]),
        ("rows", range(rows - 1, 7, -1)),
        ("names", [8, 6, 4, 3, 2, 1]),
        ("rows", range(min(rows, 8) - 1, 2, -1)),
        ("warnings", range(warnings - 1, -1, -1)),
        ("sentences", range(sentences - 1, 0, -1)),
    ):
        for n in smaller:
            size = size | {part: n}
            yield size


def _put_parts(
    short: Short, closing: Sequence[str], *, blank: int, names: int, rows: int, warnings: int, sentences: int
) -> None:
    words = {_short_name(name): f"bold {colour}" for name, colour in short.colours.items()}
    put_line(_joined(short.verdict[:sentences], short), words=words)
    if short.table is not None:
        if blank:
            console.out.print()
        table = short.table(names)
        # Categories with heads before those without any in all their columns.
        places = sorted(range(len(table.rows)), key=lambda row: not {*table.rows[row][1:]} - {"none", "-", "0"})
        listed = tuple((_short_name(table.rows[row][0]), *table.rows[row][1:]) for row in sorted(places[:rows]))
        colours = {_short_name(name): colour for name, colour in table.colours.items()}
        put_table(replace(table, rows=listed, colours=colours))
        if rows < len(table.rows):
            put_line(str(line("short.more_categories", n=len(table.rows) - rows)))
    for finding in short.below:
        put_line(_joined([finding], short), words=words)
    for finding in short.warnings[:warnings]:
        put_line(f"! {_joined([finding], short)}", words=words)
    n_left = len(short.warnings) - warnings
    details = line(
        "short.details", more=line("short.more_warnings", n=n_left) if n_left else None, command=short.details
    )
    following = [line("short.next", command=short.next_command)] if short.next_command else []
    put_line("  ".join(map(str, [*closing, *following, details])), whole=closing)


def _joined(findings: Sequence[Finding], short: Short) -> str:
    text = visible(" ".join(map(str, findings)))
    for name in sorted(short.colours, key=len, reverse=True):
        text = text.replace(visible(name), _short_name(name))
    return text


def _short_name(name: str) -> str:
    return shortened(name, most=_LONGEST_NAME)


def put(content: Any) -> None:
    """Print one JSON value, in ASCII, which any terminal can show."""
    typer.echo(json.dumps(plain(content), indent=1, allow_nan=False))


def plain(value: Any) -> Any:
    """A value as JSON has it; NaN, infinities and missing values are None, a pandas table is a list of rows."""
    if isinstance(value, xr.Dataset):
        value = value.to_dict()
    elif isinstance(value, pd.DataFrame):
        value = value.to_dict("records")
    elif hasattr(value, "tolist"):
        value = value.tolist()
    if value is None or value is pd.NA or (isinstance(value, float) and not math.isfinite(value)):
        return None
    if isinstance(value, str | Path):
        return str(value)
    if isinstance(value, bool | int | float):
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, Iterable):
        return [plain(entry) for entry in value]
    raise TypeError(f"Expected numbers, texts, lists, mappings or tables; got a {type(value).__name__}.")
