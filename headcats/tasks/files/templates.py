"""Finished prompts of subjects in templates: the corrupted prompt names another subject."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from headcats.base.errors import DataError
from headcats.prompts.pair import PromptPair
from headcats.statistics.random_streams import stream
from headcats.tasks.files.kept_rows import KeptRows
from headcats.tasks.files.packed_texts import Texts

SLOT = "{}"
_TRIES = 16


@dataclass(frozen=True, eq=False)
class TemplatePrompts:
    """One prompt per subject and template, in an order drawn from the seed that takes every subject once, then again.

    Clean: the template with the subject; corrupted: the same template with another subject, drawn by name, whose object
    differs. The answer is the object after a space, the distractor the other subject's object; they may differ in
    length, and so may the prompts. Prompts of one subject share their item.

    Attributes:
        rows: (subject, object), or (subject, object, item).
        templates: Texts with `{}` where the subject goes.
        file: Name of the file, for messages.
        keys: Number of a row -> key of its prompt; without them the subject is the key.
    """

    rows: KeptRows
    templates: tuple[str, ...]
    file: str
    keys: Mapping[int, str] = field(default_factory=dict)

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
        return [self._pair(rows, row, template, seed) for (row, template), _ in zip(turns, range(n), strict=False)]

    def _pair(self, rows: list[tuple[int, Texts]], row: int, template: int, seed: int) -> PromptPair:
        number, (subject, answer, *item) = rows[row]
        text = self.templates[template].rstrip()
        other, distractor = _other(rows, answer, stream(seed, "another subject", text, subject))
        key = self.keys.get(number, subject)
        return PromptPair(
            key=key if len(self.templates) == 1 else f"{key}, template {template + 1}",
            item=item[0] if item else subject,
            clean=text.replace(SLOT, subject),
            corrupted=text.replace(SLOT, other),
            answer=f" {answer}",
            distractor=f" {distractor}",
        )


def _other(rows: list[tuple[int, Texts]], answer: str, draws: np.random.Generator) -> tuple[str, str]:
    """The subject and object of a row with another object than `answer`; there is one."""
    for row in draws.integers(len(rows), size=_TRIES):
        subject, distractor, *_ = rows[row][1]
        if distractor != answer:
            return subject, distractor
    others = [texts for _, texts in rows if texts[1] != answer]
    subject, distractor, *_ = others[draws.integers(len(others))]
    return subject, distractor
