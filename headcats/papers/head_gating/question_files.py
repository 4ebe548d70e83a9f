"""Questions with their answers, and options where they have some: rows of a file, and what of them is dropped.

The layouts are those of `headcats.tasks.files.questions`.
"""

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from headcats.base.errors import DataError
from headcats.prompts.drop_report import DropReport
from headcats.tasks.files.any_records import file_records, language_of, other_languages
from headcats.tasks.files.content import JSON, SUFFIXES, check_safe
from headcats.tasks.files.dataset import HUB, hub_records, is_saved_dataset, saved_records
from headcats.tasks.files.json_file import json_content, json_records
from headcats.tasks.files.kept_rows import KeptRows, keep_rows
from headcats.tasks.files.questions import FINISHED, LAYOUTS, as_text
from headcats.tasks.files.records import EMPTY, Records, Texts, by_meaning

OTHER_SOLUTION = "another answer to an earlier question"


class Question(NamedTuple):
    """A question and its answer, both without spaces around them unless the prompt is finished."""

    number: int
    """Number of its row in the file."""
    text: str
    answer: str
    options: tuple[str, ...] = ()
    """Sorted; the answer is one of them. Empty where the answer is to be written."""
    pattern: str | None = None
    """Pattern that a finished prompt is an instance of, "" where the file does not say; None for a question."""

    @property
    def item(self) -> str:
        """Identity of a question: files with a fixed question differ in their answers alone."""
        return f"{self.text}\n{self.answer}" if self.options else self.text

    @property
    def length(self) -> int:
        """Characters of the question and all its options, or its answer."""
        return len(self.text) + sum(map(len, self.options or (self.answer,)))


@dataclass(frozen=True)
class Questions:
    """The questions of a file.

    Attributes:
        name: Name of the file.
        layout: Columns of its layout.
        rows: The rows that are kept, and what was dropped.
        place: Number of a row -> its place in messages.
        finished: Whether they are finished prompts.
    """

    name: str
    layout: tuple[str, ...]
    rows: KeptRows
    place: Callable[[int], str]
    finished: bool

    def __iter__(self) -> Iterator[Question]:
        """In the order of the file."""
        return (self._question(number, texts) for number, texts in self.rows)

    def drawn(self, n: int | None, *, seed: int) -> list[Question]:
        """`n` of them in the order in which the seed draws them; None takes all, in the order of the file."""
        if n is None:
            return list(self)
        kept = self.rows.chosen(n, seed=seed) if len(self.rows) > n else self.rows.shuffled(seed=seed)
        return [self._question(number, texts) for number, texts in kept]

    def _question(self, number: int, texts: Texts) -> Question:
        _, answer, text, options, pattern = texts
        return Question(number, text, answer, tuple(json.loads(options)), pattern if self.finished else None)


def read_questions(source: str | os.PathLike[str] | Sequence[Mapping[str, Any]]) -> Questions:
    """Questions of a file, a saved dataset, a dataset of the hub, or of records.

    Dropped, and counted by reason: rows without a question, an answer or a second option, whose answer is none of their
    options or more than one, that repeat or contradict an earlier row, or are in another language than most.

    Raises:
        DataError: Nothing is there, a format or a layout that is none of these, or no usable row.
    """
    records = _records(source)
    names = by_meaning(records.columns, file=records.file)
    layout = next((layout for layout in LAYOUTS if set(layout) <= set(names)), None)
    if layout is None:
        expected = "; ".join(", ".join(map(repr, layout)) for layout in LAYOUTS)
        raise DataError(
            f"{records.file}: unknown layout with the columns {', '.join(map(repr, records.columns)) or 'none'}; "
            f"expected one of these sets: {expected}. Rename the columns."
        )
    finished, parts_of = layout == FINISHED, LAYOUTS[layout]

    def read() -> Iterator[tuple[int, Texts | str]]:
        seen: set[int] = set()
        for number, cells in records.read():
            row = dict(zip(names, cells, strict=True)) if len(cells) else {}
            parts = parts_of(row) if row else EMPTY
            if isinstance(parts, str):
                yield number, parts
                continue
            text, answer, options = parts
            if not options and not finished:
                mark = hash(text)
                if mark in seen:
                    yield number, OTHER_SOLUTION
                    continue
                seen.add(mark)
            listed = json.dumps(sorted(options), ensure_ascii=False)
            kind = as_text(row.get("pattern")) if finished else language_of(row, [text, *options])
            identity = f"{text}\n{answer if finished else listed}"
            yield number, (identity, answer, text, listed, kind)

    rows = keep_rows(read(), file=records.file, place=records.place, output=1)
    rows = rows if finished else _of_one_language(rows, records.place)
    return Questions(records.file, layout, rows, records.place, finished)


def _records(source: str | os.PathLike[str] | Sequence[Mapping[str, Any]]) -> Records:
    if isinstance(source, Iterable) and not isinstance(source, str):
        return json_records([dict(item) if isinstance(item, Mapping) else item for item in source], file="the items")
    if not isinstance(source, str | os.PathLike):
        raise DataError(
            f"Questions are a file, {HUB}user/name, or a list of records {{'question': ..., 'answer': ...}}; got "
            f"{source!r:.60}."
        )
    if isinstance(source, str) and source.startswith(HUB):
        return hub_records(source)
    path = Path(source)
    if path.is_dir() and is_saved_dataset(path):
        return saved_records(path)
    if path.suffix.lower() not in SUFFIXES or not path.is_file():
        raise DataError(f"Expected a file of {', '.join(SUFFIXES)}, or {HUB}user/name; there is no such file: {path}.")
    if path.suffix.lower() not in JSON:
        return file_records(path)
    check_safe(path)
    content = json_content(path)
    if isinstance(content, dict):
        content = content["examples"] if isinstance(content.get("examples"), list) else [content]
    if not isinstance(content, list):
        raise DataError(f"{path.name} must hold a list of questions; got {content!r:.60}.")
    return json_records(content, file=path.name)


def _of_one_language(rows: KeptRows, place: Callable[[int], str]) -> KeptRows:
    """The rows in the language, or script, of most."""
    others = other_languages([texts[-1] for _, texts in rows])
    if not others:
        return rows
    keep = np.ones(len(rows), dtype=bool)
    keep[list(others)] = False
    report = DropReport(int(keep.sum()), dict(rows.report.dropped), dict(rows.report.examples))
    for number, reason in others.items():
        report.drop(reason, place(int(rows.numbers[number])))
    return KeptRows(report, rows.table.filter(keep), rows.numbers[keep], rows.marks[keep])
