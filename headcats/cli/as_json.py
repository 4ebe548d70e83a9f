"""What `--json` prints: numbers as they are, null where there is none."""

import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import typer

from headcats.cli.console import tell, warn
from headcats.reports.text.finding import Finding, Table, paragraph


def put(content: Any) -> None:
    """One JSON value on stdout, of ASCII characters alone, whatever the terminal can show.

    Args:
        content: As `plain` takes it.
    """
    typer.echo(json.dumps(plain(content), indent=1, allow_nan=False))


def plain(value: Any) -> Any:
    """Numbers, texts, lists and mappings as JSON has them; NaN, infinities and missing values are None.

    Args:
        value: Also arrays and scalars of numpy, tables of pandas (a list of rows), datasets of xarray (as
            `xarray.Dataset.to_dict` gives them) and paths.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Path):
        return str(value)
    # Of libraries that are loaded already where a value of theirs comes in. A dataset is a mapping, too.
    if hasattr(value, "data_vars"):
        return plain(value.to_dict())
    if hasattr(value, "columns"):
        return [plain(row) for row in value.to_dict("records")]
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if type(value).__name__ == "NAType":
        return None
    if isinstance(value, Iterable):
        return [plain(one) for one in value]
    raise TypeError(f"Expected numbers, texts, lists, mappings or tables; got a {type(value).__name__}.")


class Answer:
    """What a command says: told as it is found, or put together and printed as one JSON value at the end.

    Attributes:
        as_json: Which of the two.
        numbers: What is printed as JSON, with `said`, the sentences, and `files`.
    """

    def __init__(self, as_json: bool) -> None:
        self.as_json = as_json
        self.numbers: dict[str, Any] = {}
        self._said: list[str] = []
        self._files: dict[str, Path | None] = {}

    def say(self, findings: Iterable[Finding | str]) -> None:
        """Findings as text; for JSON their sentences are kept, as their tables are given as numbers.

        Args:
            findings: Notes among them go to stderr either way.
        """
        if not self.as_json:
            tell(findings)
            return
        for finding in findings:
            if isinstance(finding, Finding) and finding.place == "note":
                warn(str(finding))
            elif not isinstance(finding, Table):
                self._said.append(str(finding))

    def wrote(self, name: str, path: Path | None, said: str = "") -> None:
        """A file that was written.

        Args:
            name: Its key in `files`.
            path: Where it is; None where it could not be written.
            said: A sentence that names it.
        """
        self._files[name] = path
        if said and not self.as_json:
            tell([paragraph("text.plain", text=said)])

    def end(self) -> None:
        """Print the JSON value; nothing where everything was told."""
        if self.as_json:
            put({**self.numbers, "said": self._said, "files": self._files})
