"""Questions with options as finished prompts: the options are listed, and the answer is the letter of one, or its text.

    Which planet is the largest?
    A. Mars
    B. Jupiter
    Answer:

The forms are those of `headcats.tasks.files.questions`: MMLU, CommonsenseQA, ARC, BIG-bench.
"""

import json
from collections.abc import Iterator
from functools import partial
from typing import Any

from headcats.base.errors import DataError
from headcats.prompts.pair import PromptPair
from headcats.statistics.random_streams import stream
from headcats.tasks.files.questions import BEYOND, LAYOUTS, LETTERS
from headcats.tasks.files.records import EMPTY, Records, Row, Texts, by_meaning
from headcats.tasks.files.settings import LETTER, TEXT
from headcats.tasks.files.task_rows import FileTask, KeptRows, keep_rows


def option_task(records: Records, *, answer: str = "", layout: str = "") -> FileTask | None:
    """The task; None if the columns are of no form with options. `answer` is LETTER, also if "", or TEXT.

    `layout` says what the columns are, where it is not their names that tell.
    """
    names = by_meaning(records.columns, file=records.file)
    form = next((form for form in LAYOUTS if set(form) <= names.keys()), None)
    if form is None:
        return None

    def read() -> Iterator[Row]:
        for number, cells in records.read():
            parts = LAYOUTS[form](dict(zip(names, cells, strict=True))) if len(cells) else EMPTY
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
    if answer == TEXT and len({_parts(texts)[0] for _, texts in rows}) < 2:
        raise DataError(
            f"{records.file}: every row asks the same question, so no prompt of a text can be corrupted by another "
            'question: leave out answer = "text", and the answer is the letter of an option.'
        )
    columns = ", ".join(names[name] for name in names if name in {*form, *LETTERS.casefold()})
    note = f"{layout or f'questions with options ({columns})'}, answered by the {answer or LETTER} of an option"
    shuffled = len(rows) > 1 and len({_parts(texts)[2] for _, texts in rows}) == 1
    note += "; options shuffled, as the right one always had the same place" if shuffled else ""
    return FileTask(note, partial(_prompts, rows, records.unit, answer, shuffled), rows.report)


def _prompts(rows: KeptRows, unit: str, answer: str, shuffled: bool, n: int, *, seed: int) -> list[PromptPair]:
    """One prompt a row: all in the order of the file, or `n` drawn from the seed if there are more.

    The distractor is another option, drawn by question. Where the answer is a letter, right option and distractor
    change places in the corrupted prompt; where it is a text, another question of the file is asked there.
    """
    chosen = [(number, *_parts(texts)) for number, texts in rows.chosen(n, seed=seed)]
    asked = list(dict.fromkeys(question for _, question, _, _ in chosen))
    pairs = []
    for number, question, options, right in chosen:
        draws = stream(seed, "another option", question, *options)
        if shuffled:
            order = draws.permutation(len(options)).tolist()
            options, right = [options[place] for place in order], order.index(right)
        wrong = [place for place in range(len(options)) if place != right][draws.integers(len(options) - 1)]
        clean, words = _listed(question, options), list(LETTERS)
        if answer == TEXT:
            others = [text for text in asked if text != question]
            corrupted = _listed(others[draws.integers(len(others))], options) if others else clean
            words = options
        else:
            swapped = list(options)
            swapped[right], swapped[wrong] = options[wrong], options[right]
            corrupted = _listed(question, swapped)
        pairs.append(PromptPair(f"{unit} {number}", clean, clean, corrupted, f" {words[right]}", f" {words[wrong]}"))
    return pairs


def _parts(texts: Texts) -> tuple[str, list[str], int]:
    """Question, options in the order of the file, and the place of the right one."""
    packed: Any = json.loads(texts[0])
    question, *options = packed
    return question, options, options.index(texts[1])


def _listed(question: str, options: list[str]) -> str:
    lines = [f"{letter}. {option}" for letter, option in zip(LETTERS, options, strict=False)]
    return "\n".join([question, *lines, "Answer:"])
