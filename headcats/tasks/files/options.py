"""Questions with options as finished prompts: the options are listed, and the answer is the letter of one.

    Which planet is the largest?
    A. Mars
    B. Jupiter
    Answer:

The layouts are those of `headcats.tasks.files.questions`: MMLU, CommonsenseQA, ARC, BIG-bench.
"""

import json
from collections.abc import Iterator
from functools import partial
from typing import Any

from headcats.base.errors import DataError
from headcats.prompts.pair import PromptPair
from headcats.statistics.random_streams import stream
from headcats.tasks.files.file_task import FileTask
from headcats.tasks.files.kept_rows import KeptRows, keep_rows
from headcats.tasks.files.questions import BEYOND, LAYOUTS, LETTERS
from headcats.tasks.files.records import EMPTY, Records, Row, Texts, by_meaning


def option_task(records: Records) -> FileTask | None:
    """The task; None if the columns are of no layout with options."""
    names = by_meaning(records.columns, file=records.file)
    layout = next((layout for layout in LAYOUTS if set(layout) <= names.keys()), None)
    if layout is None:
        return None

    def read() -> Iterator[Row]:
        for number, cells in records.read():
            parts = LAYOUTS[layout](dict(zip(names, cells, strict=True))) if len(cells) else EMPTY
            if isinstance(parts, str):
                yield number, parts
            else:
                question, right, options = parts
                yield number, (json.dumps([question, *options], ensure_ascii=False), right)

    rows = keep_rows(read(), file=records.file, place=records.place, output=1)
    if BEYOND in rows.report.dropped:
        raise DataError(
            f"{rows.report.examples[BEYOND]}: the answer is as large a number as there are options, which count from "
            "0: write the letter, or the text of the option."
        )
    columns = ", ".join(names[name] for name in names if name in {*layout, *LETTERS.casefold()})
    note = f"questions with options ({columns}), answered by the letter of an option"
    return FileTask(note, partial(_prompts, rows, records.unit), rows.report)


def _prompts(rows: KeptRows, unit: str, n: int, *, seed: int) -> list[PromptPair]:
    """One prompt a row: all in the order of the file, or `n` drawn from the seed if there are more.

    The distractor is another option, drawn by question; in the corrupted prompt right option and distractor change
    places.
    """
    pairs = []
    for number, texts in rows.chosen(n, seed=seed):
        question, options, right = _parts(texts)
        draws = stream(seed, "another option", question, *options)
        wrong = [place for place in range(len(options)) if place != right][draws.integers(len(options) - 1)]
        swapped = list(options)
        swapped[right], swapped[wrong] = options[wrong], options[right]
        clean, corrupted = _listed(question, options), _listed(question, swapped)
        answers = f" {LETTERS[right]}", f" {LETTERS[wrong]}"
        pairs.append(PromptPair(f"{unit} {number}", clean, clean, corrupted, *answers))
    return pairs


def _parts(texts: Texts) -> tuple[str, list[str], int]:
    """Question, options in the order of the file, and the place of the right one."""
    packed: Any = json.loads(texts[0])
    question, *options = packed
    return question, options, options.index(texts[1])


def _listed(question: str, options: list[str]) -> str:
    lines = [f"{letter}. {option}" for letter, option in zip(LETTERS, options, strict=False)]
    return "\n".join([question, *lines, "Answer:"])
