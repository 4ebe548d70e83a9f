"""Word pairs: two columns, or objects with two fields, that mean input and output."""

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass

from headcats.base.errors import DataError, pluralize
from headcats.prompts.pair import WordPair
from headcats.tasks.files.columns import INPUT, OUTPUT, TEXT, by_meaning, find
from headcats.tasks.files.file_task import FileTask
from headcats.tasks.files.kept_rows import KeptRows, keep_rows
from headcats.tasks.files.packed_texts import Texts
from headcats.tasks.files.records import Records
from headcats.tasks.files.templates import TemplatePrompts

SOURCE = "source"
_LINK = re.compile(r"\s*(\w+://|www\.)\S+\s*$")
_LOOKED_AT = 100
_FINAL = "####"


@dataclass
class _Solutions:
    """Worked solutions, as of GSM8K: steps, and the answer behind a mark at their end."""

    n: int = 0

    def final(self, row: tuple[int, Texts | str]) -> tuple[int, Texts | str]:
        """The row with the answer alone in place of a solution."""
        number, texts = row
        if isinstance(texts, str) or _FINAL not in texts[1]:
            return row
        self.n += 1
        answer = texts[1].rpartition(_FINAL)[2].strip()
        return number, (texts[0], answer) if answer else f"nothing behind {_FINAL}"


@dataclass(frozen=True, eq=False)
class WordPairs:
    """The (input, output) pairs of a file: all in its order, or `n` drawn from the seed if there are more."""

    rows: KeptRows

    def __call__(self, n: int, *, seed: int) -> list[WordPair]:
        """Make the pairs (see `Task.make`)."""
        return [(word, output) for _, (word, output) in self.rows.chosen(n, seed=seed)]


def word_pair_task(records: Records, *, templates: Sequence[str] = ()) -> FileTask | None:
    """The task, with finished prompts if there are templates; None if no column means input, or none output."""
    names = by_meaning(records.columns, file=records.file)
    links = names.get(SOURCE, "") if _holds_links(records, names.get(SOURCE)) else ""
    if links:
        del names[SOURCE]
    word, output = (find(names, synonyms, file=records.file) for synonyms in (INPUT, OUTPUT))
    word = names.get(TEXT) if word is None else word
    if links and word is None and output is not None:
        raise DataError(f"{records.file}: the column {links!r} holds links; call the column of the input 'input'.")
    if word is None or output is None or word == output:
        return None
    others = [names[name] for name in (*INPUT, TEXT, *OUTPUT) if name in names and names[name] not in (word, output)]
    notes = [f"word pairs ({word} → {output})", *([f"{links} holds links"] if links else [])]
    notes += [f"{', '.join(others)} not taken"] if others else []
    return pair_task(records, word, output, templates=templates, layout="; ".join(notes))


def _holds_links(records: Records, column: str | None) -> bool:
    """True if most cells of the column are addresses, by the first rows; False where it has to be the input."""
    if column is None or len(records.columns) == 2:
        return False
    place = records.columns.index(column)
    first = itertools.islice((cells[place] for _, cells in records.read() if cells), _LOOKED_AT)
    are_links = [isinstance(cell, str) and _LINK.match(cell) is not None for cell in first]
    return 2 * sum(are_links) > len(are_links)


def pair_task(records: Records, word: str, output: str, *, templates: Sequence[str], layout: str) -> FileTask:
    """The task of two columns, of word pairs or written with templates."""
    solutions = _Solutions()
    read = map(solutions.final, records.texts((word, output), strip=True))
    rows = keep_rows(read, file=records.file, place=records.place, output=1)
    if solutions.n:
        layout += f"; in {pluralize(solutions.n, 'row')} the answer is what stands behind {_FINAL} in {output}"
    make = TemplatePrompts(rows, tuple(templates), records.file) if templates else WordPairs(rows)
    return FileTask(layout, make, rows.report)
