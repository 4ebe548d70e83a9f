"""Greater-than prompts with a two-digit label: `The war lasted from the year 1732 to the year 17`, label 32.

The layout of EAP-IG's greater_than_data.csv: every later year of the century is right, and the corrupted prompt names
an early year of the same century.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from headcats.base.errors import DataError
from headcats.prompts.pair import PromptPair
from headcats.statistics.random_streams import stream
from headcats.tasks.files.columns import CLEAN, CORRUPTED, by_meaning, find
from headcats.tasks.files.file_task import FileTask
from headcats.tasks.files.kept_rows import KeptRows, keep_rows
from headcats.tasks.files.packed_texts import Texts
from headcats.tasks.files.records import Records

_CENTURY = re.compile(r"\d\d$", flags=re.ASCII)
LABEL = "label"


@dataclass(frozen=True, eq=False)
class YearPrompts:
    """One prompt a row: all in the order of the file, or `n` drawn from the seed if there are more.

    The answer is drawn from the years after the label, the distractor from those that are wrong after the clean prompt
    and right after the corrupted one.
    """

    rows: KeptRows
    unit: str

    def __call__(self, n: int, *, seed: int) -> list[PromptPair]:
        """Make the pairs (see `Task.make`)."""
        pairs = []
        for number, (clean, corrupted, label, early) in self.rows.chosen(n, seed=seed):
            draws = stream(seed, "year", clean, corrupted)
            answer = draws.integers(int(label) + 1, 100)
            wrong = draws.integers(int(early) + 1, int(label) + 1)
            key = f"{self.unit} {number}"
            pairs.append(PromptPair(key, clean, clean, corrupted, f"{answer:02d}", f"{wrong:02d}"))
        return pairs


def year_task(records: Records) -> FileTask | None:
    """The task of the columns clean, corrupted and label; None if one of them is missing."""
    names = by_meaning(records.columns, file=records.file)
    clean, corrupted = (find(names, synonyms, file=records.file) for synonyms in (CLEAN, CORRUPTED))
    if clean is None or corrupted is None or LABEL not in names:
        return None

    def read() -> Iterator[tuple[int, Texts | str]]:
        for number, texts in records.texts((clean, corrupted, names[LABEL]), strip=False):
            yield number, texts if isinstance(texts, str) else _checked(*texts, place=records.place(number))

    rows = keep_rows(read(), file=records.file, place=records.place, output=2)
    layout = f"greater-than prompts ({clean}, {corrupted}, {names[LABEL]}); years drawn from the seed"
    return FileTask(layout, YearPrompts(rows, records.unit), rows.report)


def _checked(clean: str, corrupted: str, label: str, *, place: str) -> Texts | str:
    century = _CENTURY.search(clean)
    early = re.search(f"{century[0]}([0-9]{{2}})", corrupted) if century and _CENTURY.search(corrupted) else None
    if early is None or not label.isdecimal() or f"{century[0]}{int(label):02d}" not in clean:  # type: ignore[index]
        raise DataError(
            f"{place}: the label {label!r:.20} is no text that continues {clean!r:.80}, nor the two digits of a year "
            "in it; write the right and the wrong continuation in columns 'answer' and 'wrong'."
        )
    if int(label) > 98:
        return "no later year in the century"
    if int(label) <= int(early[1]):
        return "no wrong year after that of the corrupted prompt"
    return clean, corrupted, str(int(label)), str(int(early[1]))
