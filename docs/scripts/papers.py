"""Write docs/papers.md again: every constant and position of five papers beside ours, as docs/papers.toml has them.

`python docs/scripts/papers.py` does it.
"""

import pkgutil
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headcats.base import registry

ROOT = Path(__file__).parents[2]
PAGE, DATA = ROOT / "docs" / "papers.md", ROOT / "docs" / "papers.toml"
_INTRODUCTION = """# The papers, constant by constant

Each method follows a paper. Every constant and every position of the method in the paper and in its published code
stands here beside ours: the same, or another one and why. A row names the test that pins ours. Ours are read from the
code where a setting holds them: `python docs/scripts/papers.py` writes this page from `docs/papers.toml`.
"""
_HEAD = "| choice | paper | ours | pinned by |\n|:--|:--|:--|:--|\n"


@dataclass(frozen=True)
class Choice:
    """A row of the data, with the value that runs; see the head of docs/papers.toml."""

    what: str
    where: str
    paper: Any
    ours: Any
    test: str
    why: str = ""
    field: str = ""

    @property
    def same(self) -> bool:
        """True if ours is the paper's."""
        return bool(self.paper == self.ours)


@dataclass(frozen=True)
class Paper:
    """The rows of a paper, whose first preset they are of."""

    name: str
    presets: list[str]
    choices: list[Choice]


def papers() -> list[Paper]:
    """Every paper of the data."""
    read = tomllib.loads(DATA.read_text(encoding="utf-8"))
    return [Paper(name, table["presets"], _choices(**table)) for name, table in read.items()]


def _choices(presets: list[str], settings: str, choices: list[dict[str, Any]]) -> list[Choice]:
    home, rows = pkgutil.resolve_name(settings), []
    for row in choices:
        preset, ours = row.pop("preset", presets[0]), row.pop("ours", None)
        if "field" in row:
            of_preset = getattr(home, "PRESETS", {}).get(preset)
            value = _listed(getattr(of_preset if hasattr(of_preset, row["field"]) else home, row["field"]))
            ours = value if ours is None else ours.format(value)
        rows.append(Choice(**row, ours=row["paper"] if ours is None else ours))
    return rows


def _listed(value: Any) -> Any:
    """A value as TOML has it."""
    return list(map(_listed, value)) if isinstance(value, tuple) else value


def page() -> str:
    """The whole page."""
    return _INTRODUCTION + "".join(map(_section, papers()))


def _section(paper: Paper) -> str:
    names = ", ".join(f"`{name}`" for name in paper.presets)
    title = f"\n## {registry.lookup('preset', paper.presets[0]).paper}\n\n`hc.papers.{paper.name}`, "
    title += f"preset{'s' if len(paper.presets) > 1 else ''} {names}: "
    n_same = sum(choice.same for choice in paper.choices)
    return (
        title
        + f"{n_same} of {len(paper.choices)} choices are the paper's.\n\n"
        + _HEAD
        + "".join(map(_row, paper.choices))
    )


def _row(choice: Choice) -> str:
    ours = "same" if choice.same else f"**{_text(choice.ours)}**: {_text(choice.why)}"
    cells = (choice.what, f"{_text(choice.paper)} ({choice.where})", ours, f"`{choice.test}`")
    return f"| {' | '.join(map(_cell, cells))} |\n"


def _text(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(_text, value))
    return repr(value) if "\n" in str(value) else str(value)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
