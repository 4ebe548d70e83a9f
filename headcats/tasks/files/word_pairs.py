"""Word pairs, from columns or fields that mean input and output; templates make finished prompts of them.

`{"name", "samples": [{"subject", "object"}], "prompt_templates"}` is the layout of Linear Relational Embeddings
(Hernandez et al., 2024).
"""

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from headcats.base.errors import DataError, pluralize
from headcats.prompts.pair import PromptPair, WordPair
from headcats.statistics.random_streams import drawn, stream
from headcats.tasks.files.content import UnclearColumnsError
from headcats.tasks.files.json_file import json_records
from headcats.tasks.files.records import INPUT, OUTPUT, TEXT, Records, Texts, by_meaning, find
from headcats.tasks.files.task_rows import FileTask, KeptRows, keep_rows

SLOT = "{}"
_SOURCE = "source"
_LINK = re.compile(r"\s*(\w+://|www\.)\S+\s*$")
_LOOKED_AT = 100


@dataclass(frozen=True, eq=False)
class TemplatePrompts:
    """One prompt per subject and template, in an order drawn from the seed that takes every subject once, then again.

    Clean: the template with the subject; corrupted: the same template with another subject, drawn by name, whose object
    differs. The answer is the object after a space, the distractor the other subject's object; they may differ in
    length, and so may the prompts. Prompts of one subject share their item.
    """

    rows: KeptRows
    """(subject, object)."""
    templates: tuple[str, ...]
    """Texts with `{}` where the subject goes."""
    file: str

    def __post_init__(self) -> None:
        for template in self.templates:
            if SLOT not in template:
                raise DataError(f"{self.file}: the template {template!r:.60} needs {SLOT} where the subject goes.")
        if len({texts[1] for _, texts in self.rows}) < 2:
            raise DataError(
                f"{self.file}: every answer is the same, so no prompt has a wrong one; expected at least two answers "
                f"({self.rows.report.summary()})."
            )

    def __call__(self, n: int, *, seed: int) -> list[PromptPair]:
        """Make the pairs (see `Task.make`)."""
        rows = self.rows.shuffled(seed=seed)
        rounds = range(min(len(self.templates), -(-n // len(rows))))
        turns = ((row, (row + turn) % len(self.templates)) for turn in rounds for row in range(len(rows)))
        return [self._pair(rows, row, template, seed) for row, template in itertools.islice(turns, n)]

    def _pair(self, rows: list[tuple[int, Texts]], row: int, template: int, seed: int) -> PromptPair:
        _, (subject, answer) = rows[row]
        text = self.templates[template].rstrip()
        draws = stream(seed, "another subject", text, subject)
        another = drawn(rows, lambda row: row[1][1] != answer, draws=draws)
        other, distractor = another[1] if another else (subject, answer)  # there is one, as `__post_init__` saw
        return PromptPair(
            key=subject if len(self.templates) == 1 else f"{subject}, template {template + 1}",
            item=subject,
            clean=text.replace(SLOT, subject),
            corrupted=text.replace(SLOT, other),
            answer=f" {answer}",
            distractor=f" {distractor}",
        )


def word_pair_task(records: Records, *, templates: Sequence[str] = (), layout: str = "") -> FileTask | None:
    """The task, with finished prompts if there are templates; None if no column means input, or none output.

    `layout` says what the columns are, where it is not their names that tell.
    """
    names = by_meaning(records.columns, file=records.file)
    links = names.get(_SOURCE, "") if _holds_links(records, names.get(_SOURCE)) else ""
    if links:
        del names[_SOURCE]
    word, output = (find(names, synonyms, file=records.file) for synonyms in (INPUT, OUTPUT))
    word = names.get(TEXT) if word is None else word
    if links and word is None and output is not None:
        raise UnclearColumnsError(f"{records.file}: the column {links!r} holds links, which are no input.")
    if word is None or output is None or word == output:
        return None
    others = [names[name] for name in (*INPUT, TEXT, *OUTPUT) if name in names and names[name] not in (word, output)]
    notes = [layout or f"word pairs ({word} → {output})", *([f"{links} holds links"] if links else [])]
    notes += [f"{', '.join(others)} not taken"] if others else []
    return _pair_task(records, word, output, templates=templates, layout="; ".join(notes))


def _holds_links(records: Records, column: str | None) -> bool:
    """True if most cells of the column are addresses, by the first rows; False where it has to be the input."""
    if column is None or len(records.columns) == 2:
        return False
    place = records.columns.index(column)
    first = itertools.islice((cells[place] for _, cells in records.read() if cells), _LOOKED_AT)
    are_links = [isinstance(cell, str) and is_link(cell) for cell in first]
    return 2 * sum(are_links) > len(are_links)


def is_link(text: str) -> bool:
    """True if a text is an address and nothing else."""
    return _LINK.match(text) is not None


def relation_task(content: dict[str, Any], *, file: str, templates: Sequence[str] = ()) -> FileTask:
    """Task of a relation: samples in its `prompt_templates`, else in `prompt_templates_zs`, else word pairs.

    Its `relation_type` is the category. Templates of a suite.toml go first.
    """
    samples = content["samples"]
    if not isinstance(samples, list):
        raise DataError(f"{file}: 'samples' must be a list of {{subject, object}}; got {samples!r:.60}.")
    records = json_records(samples, file=file)
    if missing := {"subject", "object"} - set(records.columns):
        raise DataError(f"{file}: samples lack {' and '.join(map(repr, sorted(missing)))}; got {samples[0]!r:.60}.")
    in_file = _templates(content, "prompt_templates", file) or _templates(content, "prompt_templates_zs", file)
    used = tuple(templates) or in_file
    layout = f"relation with {pluralize(len(used), 'template')}" if used else "relation (subject → object)"
    task = _pair_task(records, "subject", "object", templates=used, layout=layout)
    properties = content.get("properties")
    category = properties.get("relation_type") if isinstance(properties, dict) else None
    return replace(task, category=category if isinstance(category, str) else "")


def _templates(content: dict[str, Any], name: str, file: str) -> tuple[str, ...]:
    texts = content.get(name) or []
    if not isinstance(texts, list) or not all(isinstance(text, str) and text.strip() for text in texts):
        raise DataError(f"{file}: {name!r} must be a list of texts with {{}} for the subject; got {texts!r:.60}.")
    return tuple(dict.fromkeys(texts))


def _pair_task(records: Records, word: str, output: str, *, templates: Sequence[str], layout: str) -> FileTask:
    """The task of two columns."""
    texts = records.texts((word, output), strip=True)
    rows = keep_rows(texts, file=records.file, place=records.place, output=1)
    if templates:
        return FileTask(layout, TemplatePrompts(rows, tuple(templates), records.file), rows.report)

    def make(n: int, *, seed: int) -> list[WordPair]:
        return [(given, answer) for _, (given, answer) in rows.chosen(n, seed=seed)]

    return FileTask(layout, make, rows.report)
