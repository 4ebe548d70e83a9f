"""Finished prompts: `clean, corrupted, answer, wrong`, from a table or from auto-circuit's JSON."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from headcats.base.errors import DataError, pluralize
from headcats.prompts.pair import PromptPair, lacks_space
from headcats.tasks.files.columns import ANSWER, CLEAN, CORRUPTED, ITEM, WRONG, by_meaning, find
from headcats.tasks.files.file_task import FileTask
from headcats.tasks.files.kept_rows import KeptRows, keep_rows
from headcats.tasks.files.packed_texts import Texts
from headcats.tasks.files.records import Records

_SEVERAL = ("answers", "wrong_answers")


@dataclass(frozen=True, eq=False)
class Contrasts:
    """The prompts of a file: all in its order, or `n` drawn from the seed if there are more."""

    rows: KeptRows
    unit: str

    def __call__(self, n: int, *, seed: int) -> list[PromptPair]:
        """Make the pairs (see `Task.make`)."""
        return [
            PromptPair(
                key=f"{self.unit} {number}",
                item=item[0] if item else clean,
                clean=clean,
                corrupted=corrupted,
                answer=answer,
                distractor=wrong,
            )
            for number, (clean, corrupted, answer, wrong, *item) in self.rows.chosen(n, seed=seed)
        ]


def contrast_task(records: Records, *, layout: str = "prompts") -> FileTask | None:
    """The task; None if no column means clean, or none corrupted."""
    names = by_meaning(records.columns, file=records.file)
    clean, corrupted, answer, wrong, item = (
        find(names, synonyms, file=records.file) for synonyms in (CLEAN, CORRUPTED, ANSWER, WRONG, ITEM)
    )
    if clean is None or corrupted is None:
        return None
    if answer is None or wrong is None:
        missing = " and ".join(name for name, column in (("answer", answer), ("wrong", wrong)) if column is None)
        raise DataError(
            f"{records.file}: the columns {', '.join(map(repr, records.columns))} lack {missing}: the right and the "
            "wrong continuation of the clean prompt, as text."
        )
    columns = (clean, corrupted, answer, wrong, *([item] if item else []))
    source = _Rows(records, columns)
    by = 4 if item else None
    rows = keep_rows(source.read(), file=records.file, place=records.place, output=2, wrong=3, item=by)
    notes = [f"{layout} ({', '.join(columns)})"]
    if set(columns) & set(_SEVERAL):
        notes.append("of several answers the first")
    if source.n_spaced:
        notes.append(f"a leading space put before the answers of {pluralize(source.n_spaced, 'row')}")
    if source.n_uneven:
        notes.append(f"in {pluralize(source.n_uneven, 'row')} one of the answers begins with a space and the other not")
    return FileTask("; ".join(notes), Contrasts(rows, records.unit), rows.report)


@dataclass
class _Rows:
    records: Records
    columns: tuple[str, ...]
    n_spaced: int = field(default=0, init=False)
    n_uneven: int = field(default=0, init=False)

    def read(self) -> Iterator[tuple[int, Texts | str]]:
        for number, texts in self.records.texts(self.columns, strip=False, several=_SEVERAL):
            yield number, texts if isinstance(texts, str) else self._checked(texts)

    def _checked(self, texts: Texts) -> Texts | str:
        clean, corrupted, *answers = texts
        pair = (answers[0], answers[1])
        answer, wrong = (
            f" {text}" if lacks_space(clean, text, other=other) else text for text, other in (pair, pair[::-1])
        )
        if clean == corrupted:
            return "clean equals corrupted"
        if answer == wrong:
            return "answer equals distractor"
        self.n_spaced += [answer, wrong] != answers[:2]
        self.n_uneven += answer[0].isspace() != wrong[0].isspace()
        return (clean, corrupted, answer, wrong, *answers[2:])
