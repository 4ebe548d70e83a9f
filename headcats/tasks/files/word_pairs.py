"""Word pairs: two columns, or objects with two fields, that mean input and output (function_vectors, MAPS)."""

from collections.abc import Sequence
from dataclasses import dataclass

from headcats.prompts.pair import WordPair
from headcats.tasks.files.columns import INPUT, OUTPUT, by_meaning, find
from headcats.tasks.files.file_task import FileTask
from headcats.tasks.files.kept_rows import KeptRows, keep_rows
from headcats.tasks.files.records import Records
from headcats.tasks.files.templates import TemplatePrompts


@dataclass(frozen=True, eq=False)
class WordPairs:
    """The (input, output) pairs of a file: all in its order, or `n` drawn from the seed if there are more."""

    rows: KeptRows

    def __call__(self, n: int, *, seed: int) -> list[WordPair]:
        """As `Task.make`."""
        return [(word, output) for _, (word, output) in self.rows.chosen(n, seed=seed)]


def word_pair_task(records: Records, *, templates: Sequence[str] = ()) -> FileTask | None:
    """The task, with finished prompts if there are templates; None if no column means input, or none output."""
    names = by_meaning(records.columns, file=records.file)
    columns = [find(names, synonyms, file=records.file) for synonyms in (INPUT, OUTPUT)]
    word, output = columns
    if word is None or output is None or word == output:
        return None
    return pair_task(records, word, output, templates=templates, layout=f"word pairs ({word} → {output})")


def pair_task(records: Records, word: str, output: str, *, templates: Sequence[str], layout: str) -> FileTask:
    """The task of two columns, of word pairs or written with templates."""
    rows = keep_rows(records.texts((word, output), strip=True), file=records.file, place=records.place, output=1)
    make = TemplatePrompts(rows, tuple(templates), records.file) if templates else WordPairs(rows)
    return FileTask(layout, make, rows.report)
