"""Finished prompts of tables: `clean, corrupted` with `answer, wrong` as text or as token ids, or with a `label`.

The last two are the layouts of EAP-IG. Of greater_than_data.csv (`The war lasted from the year 1732 to the year 17`,
label 32) every later year of the century is right, and the corrupted prompt names an early year of the same century.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from headcats.base.errors import DataError, first_line, pluralize
from headcats.prompts.pair import PromptPair, lacks_space
from headcats.statistics.random_streams import stream
from headcats.tasks.files.records import (
    ABSENT,
    ANSWER,
    CLEAN,
    CORRUPTED,
    ITEM,
    WRONG,
    Records,
    Row,
    Texts,
    absent,
    by_meaning,
    find,
)
from headcats.tasks.files.task_rows import FileTask, keep_rows

_SEVERAL = ("answers", "wrong_answers")
_LABEL = "label"
_CENTURY = re.compile(r"\d\d$", flags=re.ASCII)
_IDS = {"correct_idx": "answer", "incorrect_idx": "wrong"}


def contrast_task(records: Records, *, layout: str = "prompts") -> FileTask | None:
    """The task; None if no column means clean, or none corrupted, a DataError if those of the answers are missing."""
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
    counts = Counter[str]()

    def read() -> Iterator[Row]:
        for number, texts in records.texts(columns, strip=False, several=_SEVERAL):
            checked = texts if isinstance(texts, str) else _with_spaces(texts)
            if not isinstance(checked, str):
                counts["spaced"] += checked != texts
                counts["uneven"] += checked[2][0].isspace() != checked[3][0].isspace()
            yield number, checked

    rows = keep_rows(read(), file=records.file, place=records.place, output=2, wrong=3, item=4 if item else None)
    unit = records.unit  # the records themselves may hold a whole file

    def make(n: int, *, seed: int) -> list[PromptPair]:
        return [
            PromptPair(f"{unit} {number}", item[0] if item else clean, clean, corrupted, answer, wrong)
            for number, (clean, corrupted, answer, wrong, *item) in rows.chosen(n, seed=seed)
        ]

    notes = [f"{layout} ({', '.join(columns)})"]
    if set(columns) & set(_SEVERAL):
        notes.append("of several answers the first")
    if n := counts["spaced"]:
        notes.append(f"a leading space put before the answers of {pluralize(n, 'row')}")
    if n := counts["uneven"]:
        notes.append(f"in {pluralize(n, 'row')} one of the answers begins with a space and the other not")
    return FileTask("; ".join(notes), make, rows.report)


def _with_spaces(texts: Texts) -> Texts | str:
    """The row with the leading spaces that its answers lack, or why it is dropped."""
    clean, corrupted, *answers = texts
    pair = (answers[0], answers[1])
    answer, wrong = (
        f" {text}" if lacks_space(clean, text, other=other) else text for text, other in (pair, pair[::-1])
    )
    if clean == corrupted:
        return "clean equals corrupted"
    if answer == wrong:
        return "answer equals distractor"
    return (clean, corrupted, answer, wrong, *answers[2:])


def year_task(records: Records) -> FileTask | None:
    """The task of the columns clean, corrupted and label; None if one of them is missing.

    The answer is drawn from the years after the label, the distractor from those that are wrong after the clean prompt
    and right after the corrupted one.
    """
    names = by_meaning(records.columns, file=records.file)
    clean, corrupted = (find(names, synonyms, file=records.file) for synonyms in (CLEAN, CORRUPTED))
    if clean is None or corrupted is None or _LABEL not in names:
        return None

    def read() -> Iterator[Row]:
        for number, texts in records.texts((clean, corrupted, names[_LABEL]), strip=False):
            yield number, texts if isinstance(texts, str) else _with_years(*texts, place=records.place(number))

    rows, unit = keep_rows(read(), file=records.file, place=records.place, output=2), records.unit

    def make(n: int, *, seed: int) -> list[PromptPair]:
        pairs = []
        for number, (clean, corrupted, label, early) in rows.chosen(n, seed=seed):
            draws = stream(seed, "year", clean, corrupted)
            answer = draws.integers(int(label) + 1, 100)
            wrong = draws.integers(int(early) + 1, int(label) + 1)
            key = f"{unit} {number}"
            pairs.append(PromptPair(key, clean, clean, corrupted, f"{answer:02d}", f"{wrong:02d}"))
        return pairs

    layout = f"greater-than prompts ({clean}, {corrupted}, {names[_LABEL]}); years drawn from the seed"
    return FileTask(layout, make, rows.report)


def _with_years(clean: str, corrupted: str, label: str, *, place: str) -> Texts | str:
    """The prompts and the years of both, or why the row is dropped."""
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


def with_answers(records: Records, *, tokenizer: str) -> Records:
    """The records with the text of token ids in columns `answer` and `wrong`; as they are, if they hold no such ids.

    A DataError if there is no tokenizer, or none of that name, or an id that it lacks.
    """
    names = by_meaning(records.columns, file=records.file)
    if not _IDS.keys() <= names.keys() or set(_IDS.values()) <= names.keys():
        return records
    if not tokenizer:
        raise DataError(
            f"{records.file}: the columns 'correct_idx' and 'incorrect_idx' hold token ids, which only their tokenizer "
            'can read: name it in a suite.toml beside the file ([files."'
            f"{records.file}\"] tokenizer = \"...\"), or write the text in columns 'answer' and 'wrong'."
        )
    loaded = _load(tokenizer)
    chosen = [records.columns.index(names[name]) for name in _IDS]

    def read() -> Iterator[tuple[int, Sequence[Any]]]:
        texts: dict[Any, str] = {}
        for number, cells in records.read():
            ids = [cells[index] for index in chosen] if cells else []
            if ABSENT in ids:
                raise DataError(absent(records.place(number), records.columns[chosen[ids.index(ABSENT)]]))
            for token in ids:
                if token not in texts:
                    texts[token] = _text(loaded, token, records.place(number))
            yield number, [*cells, *(texts[token] for token in ids)]

    return Records(records.file, (*records.columns, *_IDS.values()), read, records.unit)


def _load(tokenizer: str) -> Any:
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(tokenizer, trust_remote_code=False)
    except (OSError, ValueError) as error:
        raise DataError(f"The tokenizer {tokenizer!r} cannot be loaded: {first_line(error)}.") from None


def _text(tokenizer: Any, token: Any, place: str) -> str:
    """The text of a token within a text: decoders leave out the space of a first token."""
    if not str(token).strip().isdecimal() or int(token) >= len(tokenizer):
        raise DataError(f"{place}: expected the id of a token, below {len(tokenizer)}; got {token!r:.40}.")
    before = tokenizer.encode("a", add_special_tokens=False)
    text = tokenizer.decode([*before, int(token)], clean_up_tokenization_spaces=False)
    return text.removeprefix(tokenizer.decode(before, clean_up_tokenization_spaces=False))
