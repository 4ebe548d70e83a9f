"""Finished prompts of tables: `clean, corrupted` with `answer, wrong` as text or as token ids, or with a `label`.

The last two are the layouts of EAP-IG. Of greater_than_data.csv (`The war lasted from the year 1732 to the year 17`,
label 32) every later year of the century is right, and the corrupted prompt names an early year of the same century.
"""

import functools
import itertools
import json
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

from headcats.base.errors import DataError, first_few, first_line, pluralize
from headcats.prompts.pair import PromptPair, lacks_space
from headcats.statistics.random_streams import drawn, stream
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
_AMONG = 1024
_LABEL = "label"
_CENTURY = re.compile(r"\d\d$", flags=re.ASCII)
_IDS = {"correct_idx": "answer", "incorrect_idx": "wrong"}


def contrast_task(records: Records, *, layout: str = "prompts") -> FileTask | None:
    """The task; None if no column means clean, or none corrupted, a DataError if those of the answers are missing.

    Of records that may lack a corrupted prompt or a wrong answer, these are those of another row.
    """
    names = by_meaning(records.columns, file=records.file)
    clean, corrupted, answer, wrong, item, template = (
        find(names, synonyms, file=records.file) for synonyms in (CLEAN, CORRUPTED, ANSWER, WRONG, ITEM, ("template",))
    )
    if clean is None or corrupted is None:
        return None
    if answer is None or wrong is None:
        missing = " and ".join(name for name, column in (("answer", answer), ("wrong", wrong)) if column is None)
        raise DataError(
            f"{records.file}: the columns {first_few(list(map(repr, records.columns)))} lack {missing}: the right and "
            "the wrong continuation of the clean prompt, as text. A file without wrong ones takes those of other rows: "
            f"files.{json.dumps(records.file)}.columns = {{clean = {json.dumps(clean)}, corrupted = "
            f"{json.dumps(corrupted)}, answer = {json.dumps(answer or 'COLUMN')}}} in a suite.toml beside it."
        )
    columns = [clean, corrupted, answer, wrong, *([item] if item else [])]
    columns += [template] if records.optional and template else []
    counts = Counter[str]()

    def read() -> Iterator[Row]:
        for number, texts in records.texts(columns, strip=False, several=_SEVERAL):
            checked = texts if isinstance(texts, str) else _with_spaces(texts)
            if not isinstance(checked, str):
                if item and not checked[4]:
                    checked = (*checked[:4], checked[0], *checked[5:])
                counts["spaced"] += checked[2:4] != texts[2:4]
                counts["uneven"] += bool(checked[3]) and checked[2][0].isspace() != checked[3][0].isspace()
                counts["corrupted"] += not checked[1]
                counts["wrong"] += not checked[3]
            yield number, checked

    rows = keep_rows(read(), file=records.file, place=records.place, output=2, wrong=3, item=4 if item else None)
    unit, counted = records.unit, len(columns)  # the records themselves may hold a whole file

    def make(n: int, *, seed: int) -> list[PromptPair]:
        chosen = [(number, FinishedRow(*texts[:counted])) for number, texts in rows.chosen(n, seed=seed)]
        among = [FinishedRow(*texts[:counted]) for _, texts in rows.chosen(max(n, _AMONG), seed=seed)]
        whole = completed([row for _, row in chosen], among=among, seed=seed)
        return [
            PromptPair(f"{unit} {number}", row.item or row.clean, row.clean, row.corrupted, row.answer, row.wrong)
            for (number, _), row in zip(chosen, whole, strict=True)
        ]

    if counts["wrong"] and len({texts[2] for _, texts in rows}) < 2:
        raise _one_answer(f"{records.file} ({rows.report.summary()})")
    notes = [layout if records.optional else f"{layout} ({', '.join(columns)})"]
    if set(columns) & set(_SEVERAL):
        notes.append("of several answers the first")
    if n := counts["spaced"]:
        notes.append(f"a leading space put before the answers of {pluralize(n, 'row')}")
    if n := counts["uneven"]:
        notes.append(f"in {pluralize(n, 'row')} one of the answers begins with a space and the other not")
    if n := counts["corrupted"]:
        reverse = "the words in reverse where none has another prompt and answer"
        notes.append(f"in {pluralize(n, 'row')} the corrupted prompt is that of another row ({reverse})")
    if n := counts["wrong"]:
        notes.append(f"in {pluralize(n, 'row')} the distractor is the answer of another row")
    return FileTask("; ".join(notes), make, rows.report)


def _with_spaces(texts: Texts) -> Texts | str:
    """The row with the leading spaces that its answers lack, or why it is dropped."""
    clean, corrupted, answer, wrong, *others = texts
    answer, wrong = (
        f" {text}" if text and lacks_space(clean, text, other=other or text) else text
        for text, other in ((answer, wrong), (wrong, answer))
    )
    if clean == corrupted:
        return "clean equals corrupted"
    if answer == wrong:
        return "answer equals distractor"
    return (clean, corrupted, answer, wrong, *others)


class FinishedRow(NamedTuple):
    """Texts of a finished prompt, "" for those that the file does not have."""

    clean: str
    corrupted: str
    answer: str
    wrong: str
    item: str = ""
    template: str = ""


def completed(rows: Sequence[FinishedRow], *, among: Sequence[FinishedRow], seed: int) -> list[FinishedRow]:
    """The rows with the corrupted prompts and wrong answers that they lack: those of another row, drawn by prompt.

    A row of the same template goes before others, and one whose answer is the wrong one before both; its answer is
    none that the prompt has in any row. A prompt with a wrong answer and without such a row is corrupted by the order
    of its words. A DataError for one without either.
    """
    alike: dict[tuple[str | None, str | None], list[FinishedRow]] = defaultdict(list)
    right: dict[str, set[str]] = defaultdict(set)
    for row in among:
        right[row.clean].add(row.answer)
        for kind in itertools.product((row.template, None), (row.answer, None)):
            alike[kind].append(row)
    made = []
    for row in rows:
        if not (row.corrupted and row.wrong):
            draws = stream(seed, "another prompt", row.clean, row.answer)
            kinds = [(row.template, row.wrong), (None, row.wrong)] * bool(row.wrong) + [
                (row.template, None),
                (None, None),
            ]
            pools = (alike[kind] for kind in kinds if kind in alike)
            fits = functools.partial(_serves, row=row, right=right[row.clean])
            other = next(filter(None, (drawn(pool, fits, draws=draws) for pool in pools)), None)
            if other is None and not row.wrong:
                raise _one_answer(f"The row {row.clean!r:.60}")
            in_reverse = " ".join(reversed(row.clean.split()))
            if other is None and not row.corrupted and in_reverse == row.clean:
                raise DataError(
                    f"The prompt {row.clean!r:.60} can be corrupted by no other row, as none has another prompt and "
                    "another answer: name a column `corrupted`, or add rows."
                )
            row = row._replace(
                corrupted=row.corrupted or (other.clean if other else in_reverse),
                wrong=row.wrong or other.answer,  # type: ignore[union-attr]
            )
        made.append(row)
    return made


def _serves(other: FinishedRow, *, row: FinishedRow, right: Collection[str]) -> bool:
    return other.clean != row.clean and other.answer not in right


def _one_answer(place: str) -> DataError:
    return DataError(f"{place}: every answer is the same, so no prompt has a wrong one; expected at least two answers.")


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
