"""Tables of text on the terminal, and sections of the pages of this folder."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table as Grid


@dataclass(frozen=True)
class Table:
    """One table, all cells as text; the columns named in `left`, else the first one, are aligned to the left."""

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]]
    note: str = ""
    left: Collection[str] = ()

    @property
    def is_left(self) -> list[bool]:
        """Alignment of every column."""
        return [column in self.left if self.left else not place for place, column in enumerate(self.columns)]


def show(tables: Sequence[Table], console: Console) -> None:
    """Print tables; a pipe, which has no width of its own, is wide."""
    console = console if console.is_terminal else Console(highlight=False, width=220)
    for table in tables:
        grid = Grid(title=table.title, title_justify="left", show_edge=False, pad_edge=False)
        for column, left in zip(table.columns, table.is_left, strict=True):
            grid.add_column(column, justify="left" if left else "right", overflow="fold")
        for cells in table.rows:
            grid.add_row(*cells)
        console.print(grid)
        if table.note:
            console.print(f"{table.note}\n")


def markdown(tables: Sequence[Table], facts: Sequence[str], *, heading: str) -> str:
    """A section: a heading, what it was made with, and the tables."""
    lines = [f"### {heading}", "", *(f"- {fact}" for fact in facts)]
    for table in tables:
        lines += ["", f"**{table.title}**", "", _line(table.columns)]
        lines.append(_line([":--" if left else "--:" for left in table.is_left]))
        lines += [_line(cells) for cells in table.rows]
        lines += ["", table.note] if table.note else []
    return "\n".join(lines)


def write_section(path: Path, name: str, text: str) -> None:
    """Put `text` between the marks of section `name` of a Markdown file; a section that is not there comes last."""
    begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
    section = f"{begin}\n{text}\n{end}"
    page = path.read_text(encoding="utf-8")
    if begin in page:
        page = re.sub(re.escape(begin) + ".*?" + re.escape(end), lambda _: section, page, flags=re.DOTALL)
    else:
        page = f"{page.rstrip()}\n\n{section}\n"
    unfinished = path.with_name(f"{path.name}.tmp")
    unfinished.write_text(page, encoding="utf-8")
    unfinished.replace(path)


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
