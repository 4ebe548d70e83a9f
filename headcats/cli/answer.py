"""Answer of a command: in short, with all details, or as one JSON value."""

import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import typer
import xarray as xr

from headcats.cli.console import tell, warn
from headcats.cli.short_answer import put_short
from headcats.reports.text.short import Short
from headcats.results.finding import Finding, Table, line, paragraph
from headcats.results.whole_file import csv_bytes, write_whole


class Answer:
    """Output of a command: printed as it comes, or collected for the end, in short or as one JSON value.

    Attributes:
        as_json: Whether the end is a JSON value.
        details: Whether everything is printed; False: `short` alone; None, of a command without one: everything.
        numbers: What JSON has beside `sentences`, the sentences, and `files`.
        short: What is printed at the end in place of details, where there is one.
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
        """A file that was written.

        Args:
            name: Its key in `files`.
            path: Where it is; None: it could not be written.
            sentence: How text names it.
            hint: What follows that among the details.
        """
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
            tell([*map(_as_item, further), *following])


def _as_item(finding: Finding) -> Finding:
    return Finding(finding.id, finding.fields, "item")


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
